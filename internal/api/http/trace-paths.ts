/** Where requests about the trace go. */
export const TRACE_PATHS = {
  status: '/v0/trace',
  arm: '/v0/trace/arm',
  disarm: '/v0/trace/disarm',
  records: '/v0/trace/records',
  reasons: '/v0/trace/reasons',
} as const;
