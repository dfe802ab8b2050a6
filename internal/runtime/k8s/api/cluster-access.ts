import { existsSync } from 'node:fs';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import { delimiter } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { GcError, messageOf } from '../../../platform/errors.ts';
import { type ClusterTarget, SERVICE_ACCOUNT_CA, SERVICE_ACCOUNT_TOKEN } from './cluster-target.ts';

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** Everything that a request to the cluster needs, of this moment: tokens expire, files are replaced. */
export interface ClusterConnection {
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: HttpAgent;
  /** For a client that brings no agent of its own. */
  readonly tls: Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;
}

/** One cluster and one identity in it. Credential plugins, token files and proxies are the library's matter. */
export interface ClusterAccess {
  /** The API's address, possibly with a path. */
  readonly server: URL;
  /** @throws GcError `k8s-credentials` */
  connection(): Promise<ClusterConnection>;
  /** The cluster refused the credentials: the next connection reads and asks for them anew. */
  renew(): void;
  close(): void;
}

/** @throws GcError `k8s-no-config`, `k8s-bad-config`, `k8s-no-context` */
export function openClusterAccess(target: ClusterTarget): ClusterAccess {
  let config = load(target);
  const cluster = config.getCurrentCluster();
  if (!cluster) throw badConfig(target, 'it names no cluster for the context');
  const server = serverOf(cluster.server, target);
  let agent: { readonly key: string; readonly agent: HttpAgent } | undefined;
  return {
    server,
    connection: async () => {
      const options: RequestOptions = { headers: {} };
      try {
        await config.applyToHTTPSOptions(options);
      } catch (error) {
        throw new GcError('k8s-credentials', `no credentials for ${server.host}: ${messageOf(error)}`, {
          cause: error,
          next: `kubectl ${contextFlag(target)}get pods`,
        });
      }
      const { ca, cert, key, servername, rejectUnauthorized } = options;
      const tls = definedOnly({ ca, cert, key, servername, rejectUnauthorized });
      const identity = JSON.stringify(tls);
      if (agent?.key !== identity) {
        agent?.agent.destroy();
        agent = { key: identity, agent: agentFor(server, options, tls, cluster.proxyUrl) };
      }
      return { headers: headersOf(options), agent: agent.agent, tls };
    },
    renew: () => {
      config = load(target);
    },
    close: () => agent?.agent.destroy(),
  };
}

function load(target: ClusterTarget): KubeConfig {
  const config = new KubeConfig();
  if (target.service !== '') {
    config.loadFromOptions({
      clusters: [{ name: 'in-cluster', server: `https://${target.service}`, caFile: SERVICE_ACCOUNT_CA }],
      users: [
        {
          name: 'pod',
          authProvider: { name: 'tokenFile', config: { tokenFile: SERVICE_ACCOUNT_TOKEN } },
        },
      ],
      contexts: [{ name: 'in-cluster', cluster: 'in-cluster', user: 'pod' }],
      currentContext: 'in-cluster',
    });
    return config;
  }
  const files = target.kubeconfig.split(delimiter).filter((path) => path !== '' && existsSync(path));
  if (files.length === 0) throw noConfig(target);
  try {
    for (const [index, file] of files.entries()) {
      if (index === 0) config.loadFromFile(file);
      else {
        const more = new KubeConfig();
        more.loadFromFile(file);
        config.mergeConfig(more, true);
      }
    }
  } catch (error) {
    throw badConfig(target, messageOf(error), error);
  }
  chooseContext(config, target);
  allowLocalProxy(config);
  return config;
}

/** `kubectl proxy` and the like speak plain HTTP on this machine, where nobody can listen in. Elsewhere the library refuses. */
function allowLocalProxy(config: KubeConfig): void {
  const cluster = config.getCurrentCluster();
  if (!cluster || !URL.canParse(cluster.server)) return;
  const { protocol, hostname } = new URL(cluster.server);
  if (protocol !== 'http:' || !LOOPBACK.has(hostname)) return;
  config.clusters = config.clusters.map((each) =>
    each === cluster ? { ...each, skipTLSVerify: true } : each,
  );
}

function chooseContext(config: KubeConfig, target: ClusterTarget): void {
  const names = config.getContexts().map((each) => each.name);
  const wanted = target.context === '' ? (config.getCurrentContext() ?? '') : target.context;
  if (names.includes(wanted)) {
    config.setCurrentContext(wanted);
    return;
  }
  const known = names.length === 0 ? 'it has no contexts' : `it has ${names.join(', ')}`;
  const what = wanted === '' ? 'no current context' : `no context "${wanted}"`;
  throw new GcError('k8s-no-context', `${target.kubeconfig} has ${what}; ${known}`, {
    next: 'set session.k8s.context in the city file, or GC_K8S_CONTEXT',
  });
}

function noConfig(target: ClusterTarget): GcError {
  const looked =
    target.kubeconfig === ''
      ? 'neither KUBECONFIG nor ~/.kube/config leads to one, and this is not a pod'
      : `${target.kubeconfig} is not there`;
  return new GcError('k8s-no-config', `no kubeconfig: ${looked}`, {
    next: 'set KUBECONFIG to a kubeconfig file',
  });
}

function badConfig(target: ClusterTarget, why: string, cause?: unknown): GcError {
  return new GcError('k8s-bad-config', `the kubeconfig ${target.kubeconfig} cannot be used: ${why}`, {
    cause,
    next: `kubectl config view --kubeconfig ${target.kubeconfig}`,
  });
}

function serverOf(text: string, target: ClusterTarget): URL {
  const server = URL.canParse(text) ? new URL(text) : undefined;
  if (server && /^https?:$/.test(server.protocol)) return server;
  throw badConfig(target, `the server ${JSON.stringify(text)} is not an address`);
}

/** The library makes an agent for every request, which opens a connection for every request; only a proxy's is needed. */
function agentFor(
  server: URL,
  options: RequestOptions,
  tls: ClusterConnection['tls'],
  proxy: string | undefined,
): HttpAgent {
  if (proxy && options.agent instanceof HttpAgent) return options.agent;
  return server.protocol === 'http:'
    ? new HttpAgent({ keepAlive: true })
    : new HttpsAgent({ keepAlive: true, ...tls });
}

function headersOf(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  if (options.auth) headers['Authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    if (value !== undefined) headers[name] = String(value).trim();
  }
  return headers;
}

function definedOnly<T extends object>(value: { [K in keyof T]: T[K] | undefined }): Partial<T> {
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(entries) as Partial<T>;
}

const contextFlag = (target: ClusterTarget) => (target.context === '' ? '' : `--context ${target.context} `);
