//! A whole profile, decoded.

use std::collections::BTreeMap;

use opscope_cann_raw::Chip;

use crate::catalogue::Catalogue;
use crate::clock::Clock;
use crate::decode::{device_tables, host_tables};
use crate::discover::Profile;
use crate::error::Result;
use crate::losses::Losses;
use crate::metadata::Metadata;
use crate::parallel;
use crate::tables::{DeviceTables, HostTables};

/// A profile's native tables with what is needed to understand them.
#[derive(Debug)]
pub struct Data {
    /// The profile that was decoded.
    pub profile: Profile,
    /// What the host reported; empty tables if the profile has no host directory.
    pub host: HostTables,
    /// The clock of the host's times.
    pub host_clock: Clock,
    /// What the devices reported, by device number.
    pub devices: BTreeMap<u32, Device>,
}

/// One device of a profile.
#[derive(Debug)]
pub struct Device {
    /// The device's number.
    pub id: u32,
    /// What its metadata files say.
    pub metadata: Metadata,
    /// The clock of its times.
    pub clock: Clock,
    /// What it reported.
    pub tables: DeviceTables,
}

impl Data {
    /// Decodes a profile. Damaged parts are dropped and counted.
    ///
    /// # Errors
    /// If a directory of the profile can't be listed.
    pub fn load(profile: Profile) -> Result<Self> {
        let mut losses = Losses::default();
        let host_catalogue = match &profile.host {
            Some(host) => Catalogue::read(&host.data(), &mut losses)?,
            None => Catalogue::default(),
        };
        let chip = profile.metadata().map_or(Chip::V4_1_0, Metadata::chip);
        let mut catalogues = Vec::with_capacity(profile.devices.len());
        for device in &profile.devices {
            catalogues.push((device.id(), &device.metadata, Catalogue::read(&device.data(), &mut losses)?));
        }
        // How device records are to be read depends on one small file of the host.
        let expanded = crate::decode::has_expanded_streams(&host_catalogue, &mut losses);
        let (mut host, decoded) = parallel::join(
            || host_tables(&host_catalogue, chip),
            || {
                let decode = |(_, metadata, catalogue): &(u32, &Metadata, Catalogue)| {
                    device_tables(catalogue, metadata, expanded)
                };
                parallel::map(&catalogues, decode)
            },
        );
        host.losses.merge(losses);
        host.expanded_streams = expanded;
        let devices = catalogues.iter().zip(decoded).map(|((id, metadata, _), tables)| {
            let (metadata, clock) = ((*metadata).clone(), metadata.device_clock());
            (*id, Device { id: *id, metadata, clock, tables })
        });
        let devices = devices.collect();
        let host_clock = profile.metadata().map(Metadata::host_clock).unwrap_or_default();
        Ok(Self { host, host_clock, devices, profile })
    }

    /// The chip of the profile.
    pub fn chip(&self) -> Chip {
        self.profile.metadata().map_or(Chip::V4_1_0, Metadata::chip)
    }

    /// The process that was profiled.
    pub fn pid(&self) -> u32 {
        self.profile.metadata().map_or(0, |metadata| metadata.info.pid)
    }

    /// Everything that was dropped or doubted, of host and devices together.
    pub fn losses(&self) -> Losses {
        let mut all = self.profile.losses.clone();
        all.merge(self.host.losses.clone());
        for device in self.devices.values() {
            all.merge(device.tables.losses.clone());
        }
        all
    }
}
