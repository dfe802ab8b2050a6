/** Where requests go that are about several sessions. */
export const UPKEEP_PATHS = {
  prune: '/v0/sessions/prune',
  matching: '/v0/sessions/matching',
} as const;
