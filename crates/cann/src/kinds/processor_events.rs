//! The events that ARM processors count, by the numbers of their architecture.

/// The event of a processor's cycles.
pub(crate) const CYCLES: u32 = 0x11;

/// The name of an event, as tables have it.
pub(crate) fn event_name(event: u32) -> Option<&'static str> {
    EVENTS.binary_search_by_key(&event, |(number, _)| *number).ok().map(|place| EVENTS[place].1)
}

/// The events by number.
const EVENTS: [(u32, &str); 104] = [
    (0x00, "Sw_incr"),
    (0x01, "L1i_cache_refill"),
    (0x02, "L1i_tlb_refill"),
    (0x03, "L1d_cache_refill"),
    (0x04, "L1d_cache"),
    (0x05, "L1d_tlb_refill"),
    (0x06, "Ld_retired"),
    (0x07, "St_retired"),
    (0x08, "Inst_retired"),
    (0x09, "Exc_taken"),
    (0x0a, "Exc_return"),
    (0x0b, "Cid_write_retired"),
    (0x0c, "Pc_write_retired"),
    (0x0d, "Br_immed_retired"),
    (0x0e, "Br_return_retired"),
    (0x0f, "Unaligned_ldst_retired"),
    (0x10, "Br_mis_pred"),
    (0x11, "Cpu_cycles"),
    (0x12, "Br_pred"),
    (0x13, "Mem_access"),
    (0x14, "L1i_cache"),
    (0x15, "L1d_cache_wb"),
    (0x16, "L2d_cache"),
    (0x17, "L2d_cache_refill"),
    (0x18, "L2d_cache_wb"),
    (0x19, "Bus_access"),
    (0x1a, "Memory_error"),
    (0x1b, "Inst_spec"),
    (0x1c, "Ttbr_write_retired"),
    (0x1d, "Bus_cycles"),
    (0x1e, "Chain"),
    (0x20, "L2d_cache_allocate"),
    (0x21, "Br_retired"),
    (0x22, "Br__mis_pred_retired"),
    (0x23, "Stall_frontend"),
    (0x24, "Stall_backend"),
    (0x25, "L1d_tlb"),
    (0x26, "L1i_tlb"),
    (0x2d, "L2d_tlb_refill"),
    (0x2f, "L2d_tlb"),
    (0x34, "Dtlb_walk"),
    (0x35, "Itlb_walk"),
    (0x36, "Ll_cache_rd"),
    (0x37, "Ll_cache_miss_rd"),
    (0x38, "Remote_access_rd"),
    (0x40, "L1d_cache_ld"),
    (0x41, "L1d_cache_st"),
    (0x42, "L1d_cache_refill_ld"),
    (0x43, "L1d_cache_refill_st"),
    (0x44, "L1d_cache_refill_inner"),
    (0x45, "L1d_cache_refill_outer"),
    (0x50, "L2d_cache_ld"),
    (0x51, "L2d_cache_st"),
    (0x52, "L2d_cache_refill_ld"),
    (0x53, "L2d_cache_refill_st"),
    (0x60, "Bus_access_ld"),
    (0x61, "Bus_access_st"),
    (0x66, "Mem_access_ld"),
    (0x67, "Mem_access_st"),
    (0x70, "Ld_spec"),
    (0x71, "St_spec"),
    (0x72, "Ldst_spec"),
    (0x73, "Dp_spec"),
    (0x74, "Ase_spec"),
    (0x75, "Vfp_spec"),
    (0x76, "Pc_write_spec"),
    (0x77, "Crypto_spec"),
    (0x78, "Br_immed_spec"),
    (0x79, "Br_return_spec"),
    (0x7a, "Br_indirect_spec"),
    (0x86, "Exc_irq"),
    (0x87, "Exc_fiq"),
    (0xc1, "L2d_cache_refill_prefetch"),
    (0xc2, "L1d_cache_refill_prefetch"),
    (0xc3, "L2d_ws_mode"),
    (0xc4, "L1d_ws_mode_entry"),
    (0xc5, "L1d_ws_mode"),
    (0xc6, "Predecode_error"),
    (0xc9, "Br_cond_pred"),
    (0xca, "Br_indirect_mis_pred"),
    (0xcb, "Br_indirect_addr_mis_pred"),
    (0xcc, "Br_cond_mis_pred"),
    (0xcd, "Br_indirect_addr_pred"),
    (0xce, "Br_return_addr_pred"),
    (0xcf, "Br_return_addr_mis_pred"),
    (0xd0, "L2d_llwalk_tlb"),
    (0xd1, "L2d_llwalk_tlb_refill"),
    (0xd2, "L2d_l2walk_tlb"),
    (0xd3, "L2d_l2walk_tlb_refill"),
    (0xd4, "L2d_s2_tlb"),
    (0xd5, "L2d_s2_tlb_refill"),
    (0xd6, "L2d_cache_stash_dropped"),
    (0xe1, "Stall_frontend_cache"),
    (0xe2, "Stall_frontend_tlb"),
    (0xe3, "Stall_frontend_pderr"),
    (0xe4, "Stall_backend_ilock"),
    (0xe5, "Stall_backend_ilock_agu"),
    (0xe6, "Stall_backend_ilock_fpu"),
    (0xe7, "Stall_backend_ld"),
    (0xe8, "Stall_backend_st"),
    (0xe9, "Stall_backend_ld_cache"),
    (0xea, "Stall_backend_ld_tlb"),
    (0xeb, "Stall_backend_st_stb"),
    (0xec, "Stall_backend_st_tlb"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_found_by_its_number() {
        for (number, name) in EVENTS {
            assert_eq!(event_name(number), Some(name));
        }
        assert_eq!((event_name(CYCLES), event_name(0x1F)), (Some("Cpu_cycles"), None));
    }
}
