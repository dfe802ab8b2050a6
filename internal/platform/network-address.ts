import { isIP } from 'node:net';
import { isAbsolute, resolve } from 'node:path';

export type TcpAddress = { readonly kind: 'tcp'; readonly host: string; readonly port: number };
export type UnixAddress = { readonly kind: 'unix'; readonly path: string };
/** Where something listens, or where it is dialed. */
export type NetworkAddress = TcpAddress | UnixAddress;

const HOST_NAME = /^(?!-)[A-Za-z0-9_.-]{1,253}$/;

/** `host:port`, `[v6]:port`, or `:port` for every address of the machine; `undefined` for anything else. */
export function parseTcpAddress(text: string): TcpAddress | undefined {
  const found = /^(?:\[([^\]]*)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  if (!found) return undefined;
  const [, bracketed, plain, digits] = found;
  const port = Number(digits);
  if (port > 65_535) return undefined;
  if (bracketed !== undefined)
    return isIP(bracketed) === 6 ? { kind: 'tcp', host: bracketed, port } : undefined;
  if (plain === undefined || plain === '') return { kind: 'tcp', host: '0.0.0.0', port };
  return HOST_NAME.test(plain) ? { kind: 'tcp', host: plain, port } : undefined;
}

/**
 * Where a peer is reached: `host:port`, `dns:///host:port`, `unix:path`, `unix://path`; `undefined` for anything else. A
 * relative socket path counts from `cwd`. Source: gRPC's names, those that agentsessions.v1 allows.
 */
export function parseDialAddress(text: string, cwd: string): NetworkAddress | undefined {
  const unix = /^unix:(?:\/\/)?(.+)$/s.exec(text)?.[1];
  if (unix !== undefined) {
    if (unix.includes('\0')) return undefined;
    return { kind: 'unix', path: isAbsolute(unix) ? unix : resolve(cwd, unix) };
  }
  const tcp = parseTcpAddress(text.startsWith('dns:///') ? text.slice('dns:///'.length) : text);
  if (!tcp || tcp.port === 0 || tcp.host === '0.0.0.0') return undefined;
  return tcp;
}

/** Where something is to listen: `host:port` with port 0 for any, or `unix:path`; `undefined` for anything else. */
export function parseListenAddress(text: string, cwd: string): NetworkAddress | undefined {
  return text.startsWith('unix:') ? parseDialAddress(text, cwd) : parseTcpAddress(text);
}

/** An IP address that only this machine reaches, written as such. */
export function isLoopbackLiteral(host: string): boolean {
  return isIP(host) === 4 ? host.startsWith('127.') : host === '::1';
}

/** Only this machine reaches it: a loopback address, or the name that stands for one. */
export function isLoopback(host: string): boolean {
  return isLoopbackLiteral(host) || host.toLowerCase() === 'localhost';
}

/** As it is written in an address: IPv6 in brackets. */
export function addressText(address: NetworkAddress): string {
  if (address.kind === 'unix') return `unix:${address.path}`;
  return `${isIP(address.host) === 6 ? `[${address.host}]` : address.host}:${address.port}`;
}
