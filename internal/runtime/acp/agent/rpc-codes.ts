/** JSON-RPC error codes that have a meaning here. Source: JSON-RPC 2.0, Agent Client Protocol. */
export const AUTH_REQUIRED = -32_000;
export const NOT_FOUND = -32_002;
export const INVALID_PARAMS = -32_602;
export const INTERNAL_ERROR = -32_603;
export const METHOD_NOT_FOUND = -32_601;
