import { chmodSync, writeFileSync } from 'node:fs';

export interface KubeconfigOptions {
  readonly token?: string;
  readonly context?: string;
  readonly namespace?: string;
  /** Another address for the server: one where nobody listens, a proxy. */
  readonly server?: string;
}

const READ_WRITE_OWNER = 0o600;

/** The client library takes an address without TLS only with `insecure-skip-tls-verify`. */
export function kubeconfigText(
  options: KubeconfigOptions & { readonly server: string; readonly token: string },
): string {
  const { server, token, context = 'test', namespace = 'default' } = options;
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'controller', user: { token } }],
    contexts: [{ name: context, context: { cluster: 'test', user: 'controller', namespace } }],
    'current-context': context,
  });
}

export function writeOwnerOnly(path: string, text: string): void {
  writeFileSync(path, text, { mode: READ_WRITE_OWNER });
  // An older file keeps its mode.
  chmodSync(path, READ_WRITE_OWNER);
}
