# The atomic operations under the name of the memory package; they are written in base, whose thread runner needs them too.

from aerowire.base.atomics cimport (
    acquire_fence, cas_i32, cas_i64, cpu_relax, exchange_i32, exchange_i64, fetch_add_i32, fetch_add_i64, full_fence, load_acquire_i32,
    load_acquire_i64, load_acquire_u8, load_relaxed_i32, load_relaxed_i64, release_fence, store_relaxed_i32, store_relaxed_i64,
    store_release_i32, store_release_i64, store_release_u8, store_seq_cst_i32, store_seq_cst_i64)
