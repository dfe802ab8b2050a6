/** Names the lease that a controller must hold while it controls a city; unset or empty: none. */
export const LEASE_VARIABLE = 'GC_K8S_LEASE';
