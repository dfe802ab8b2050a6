/** A JSON-RPC message of the other side, by what has to be done with it. */
export type WireMessage =
  | { readonly kind: 'update'; readonly params: unknown }
  | { readonly kind: 'request'; readonly id: string | number; readonly method: string; readonly raw: object }
  | { readonly kind: 'response'; readonly id: string | number; readonly raw: object }
  | { readonly kind: 'cancel-request'; readonly raw: object }
  /** Well formed, and nothing to us. */
  | { readonly kind: 'other' }
  /** Not of the protocol: a banner, a log line, broken JSON. */
  | { readonly kind: 'stray' }
  | { readonly kind: 'blank' };

/** Never throws: whatever an agent prints has a kind. */
export function readMessage(line: string): WireMessage {
  if (line.trim() === '') return { kind: 'blank' };
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { kind: 'stray' };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { kind: 'stray' };
  const { jsonrpc, id, method, params, result, error } = value as Record<string, unknown>;
  if (jsonrpc !== '2.0') return { kind: 'stray' };
  const named = typeof id === 'string' || typeof id === 'number';
  if (typeof method === 'string') {
    if (named) return { kind: 'request', id, method, raw: value };
    if (method === 'session/update') return { kind: 'update', params };
    return method === '$/cancel_request' ? { kind: 'cancel-request', raw: value } : { kind: 'other' };
  }
  if (named && (result !== undefined || error !== undefined)) return { kind: 'response', id, raw: value };
  // An error without an id tells that one of our messages could not be read: there is nobody to give it to.
  return error !== undefined ? { kind: 'other' } : { kind: 'stray' };
}
