//! A whole profile, decoded.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use opscope_cann_raw::Chip;
use opscope_formats::reading::Stop;

use crate::catalogue::Catalogue;
use crate::clock::Clock;
use crate::decode::{LegacySource, device_tables, host_tables};
use crate::discover::Profile;
use crate::error::{Error, Result};
use crate::metadata::Metadata;
use crate::parallel;
use crate::tables::{DeviceTables, HostTables, LaunchingTables};
use opscope_trace::{LossKind, Losses};

/// A profile's native tables with what is needed to understand them.
#[derive(Debug)]
pub struct Data {
    /// The profile that was decoded.
    pub profile: Profile,
    /// The host's records; empty tables if the profile has no host directory.
    pub host: HostTables,
    /// The clock of the host's times.
    pub host_clock: Clock,
    /// The devices' records, by device number.
    pub devices: BTreeMap<u32, Device>,
}

/// One device of a profile.
#[derive(Debug)]
pub struct Device {
    /// The device's number.
    pub id: u32,
    /// Its metadata files.
    pub metadata: Metadata,
    /// The clock of its times.
    pub clock: Clock,
    /// Its records.
    pub tables: DeviceTables,
}

/// The directories that may hold host-side files of the tool chain of 2022. A job's directory is
/// host and device in one and is listed once, as the device's.
fn old_sources<'a>(
    profile: &Profile,
    host: &'a Catalogue,
    devices: &'a [(u32, &Metadata, Catalogue)],
) -> Vec<LegacySource<'a>> {
    let is_device = |path: &Path| profile.devices.iter().any(|device| device.path == path);
    let own_host = profile.host.as_ref().is_some_and(|source| !is_device(&source.path));
    let of_host = own_host.then_some(LegacySource { catalogue: host, device: None });
    let of_devices = devices.iter().filter_map(|(id, _, catalogue)| {
        Some(LegacySource { catalogue, device: Some(u16::try_from(*id).ok()?) })
    });
    of_host.into_iter().chain(of_devices).collect()
}

/// Counts the files that no decoder asked for. A directory may be the host's and a device's, or that
/// of several devices, in one: then its files are unread only if nobody asked for them.
fn count_unread(
    profile: &Profile,
    host: &Catalogue,
    devices: &[(u32, &Metadata, Catalogue)],
    losses: &mut Losses,
) {
    let mut unread: BTreeMap<PathBuf, BTreeMap<&str, u64>> = BTreeMap::new();
    let of_host = profile.host.iter().map(|source| (source, host));
    let of_devices =
        profile.devices.iter().zip(devices).map(|(source, (_, _, catalogue))| (source, catalogue));
    for (source, catalogue) in of_host.chain(of_devices) {
        let own: BTreeMap<&str, u64> = catalogue.unread().collect();
        match unread.entry(source.data()) {
            Entry::Vacant(place) => {
                place.insert(own);
            }
            Entry::Occupied(mut place) => place.get_mut().retain(|name, _| own.contains_key(name)),
        }
    }
    for (name, files) in unread.into_values().flatten() {
        losses.count(LossKind::UnreadFile, name, files);
    }
}

/// Whether a clock can show all of these times, as far as they are looked at before `stop` is wanted.
fn shows_all(clock: &Clock, times: &[u64], stop: &Stop) -> bool {
    stop.within(times).all(|&time| clock.can_show(time))
}

/// Drops and counts tasks at times that the device's clock can't show: one of them would stretch the run
/// over centuries.
fn drop_impossible_tasks(tables: &mut DeviceTables, clock: &Clock, stop: &Stop) {
    let DeviceTables { tasks, launching, losses, .. } = tables;
    let before = tasks.len();
    if !shows_all(clock, tasks.end(), stop) {
        tasks.retain(|task| clock.can_show(task.end));
    }
    losses.count(LossKind::ImpossibleTime, "device tasks", (before - tasks.len()) as u64);
    let phases = &mut launching.phases;
    let before = phases.len();
    if !shows_all(clock, phases.end(), stop) {
        phases.retain(|phase| clock.can_show(phase.end));
    }
    losses.count(LossKind::ImpossibleTime, "aicpu.data", (before - phases.len()) as u64);
}

/// Gives every hash in the AI CPU's records a name.
fn name_launching(host: &mut HostTables, launching: &LaunchingTables) {
    let of_steps = launching.steps.note().iter().flat_map(|note| [note.name, note.group]);
    let of_operations = launching.operations.note().iter().flat_map(|note| [note.algorithm, note.group]);
    host.names.name_unknown(of_steps.chain(of_operations), &mut host.losses, "aicpu.data");
}

/// The same for calls and ranges of the host, and the work of data processing units.
fn drop_impossible_calls(host: &mut HostTables, clock: &Clock, stop: &Stop) {
    let HostTables { api, tx, dpu, losses, .. } = host;
    let before = (api.len(), tx.len());
    if !shows_all(clock, api.end(), stop) {
        api.retain(|call| clock.can_show(call.end));
    }
    if !shows_all(clock, tx.end(), stop) {
        tx.retain(|range| clock.can_show(range.end));
    }
    losses.count(LossKind::ImpossibleTime, "calls", (before.0 - api.len()) as u64);
    losses.count(LossKind::ImpossibleTime, "ranges", (before.1 - tx.len()) as u64);
    let before = (dpu.tasks.len(), dpu.steps.len());
    if !shows_all(clock, dpu.tasks.end(), stop) {
        dpu.tasks.retain(|task| clock.can_show(task.end));
    }
    if !shows_all(clock, dpu.steps.end(), stop) {
        dpu.steps.retain(|step| clock.can_show(step.end));
    }
    losses.count(LossKind::ImpossibleTime, "compact.dpu_track", (before.0 - dpu.tasks.len()) as u64);
    losses.count(LossKind::ImpossibleTime, "additional.dpu_hccl_info", (before.1 - dpu.steps.len()) as u64);
}

impl Data {
    /// Decodes a profile. Damaged parts are dropped and counted.
    ///
    /// # Errors
    /// If a directory of the profile can't be listed.
    pub fn load(profile: Profile) -> Result<Self> {
        Self::load_until(profile, &Stop::default())
    }

    /// As [`Data::load`], until `stop` is wanted.
    ///
    /// # Errors
    /// As [`Data::load`], and where it was stopped.
    pub fn load_until(profile: Profile, stop: &Stop) -> Result<Self> {
        let mut losses = Losses::default();
        let host_catalogue = match &profile.host {
            Some(host) => Catalogue::read(&host.data(), stop, &mut losses)?,
            None => Catalogue::default(),
        };
        let metadata = profile.metadata().cloned().unwrap_or_default();
        let mut catalogues = Vec::with_capacity(profile.devices.len());
        for device in &profile.devices {
            let catalogue = Catalogue::read(&device.data(), stop, &mut losses)?;
            catalogues.push((device.id(), &device.metadata, catalogue));
        }
        stop.expects(|| {
            let of_devices = catalogues.iter().map(|(_, _, catalogue)| catalogue.bytes());
            host_catalogue.bytes() + of_devices.sum::<u64>()
        });
        let old = old_sources(&profile, &host_catalogue, &catalogues);
        // How device records are to be read depends on one small file of the host.
        let expanded = crate::decode::has_expanded_streams(&host_catalogue, &mut losses);
        let (mut host, decoded) = parallel::join(
            || host_tables(&host_catalogue, &metadata, &old),
            || {
                let decode = |(_, metadata, catalogue): &(u32, &Metadata, Catalogue)| {
                    device_tables(catalogue, metadata, expanded)
                };
                parallel::map(&catalogues, decode)
            },
        );
        if stop.is_wanted() {
            return Err(Error::Stopped { path: profile.path });
        }
        count_unread(&profile, &host_catalogue, &catalogues, &mut losses);
        host.losses.merge(losses);
        host.expanded_streams = expanded;
        let devices = catalogues.iter().zip(decoded).map(|((id, metadata, _), mut tables)| {
            let (metadata, clock) = ((*metadata).clone(), metadata.device_clock());
            drop_impossible_tasks(&mut tables, &clock, stop);
            (*id, Device { id: *id, metadata, clock, tables })
        });
        let devices: BTreeMap<u32, Device> = devices.collect();
        devices.values().for_each(|device| name_launching(&mut host, &device.tables.launching));
        let host_clock = profile.metadata().map(Metadata::host_clock).unwrap_or_default();
        drop_impossible_calls(&mut host, &host_clock, stop);
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
