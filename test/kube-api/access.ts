import type { ApiRequest } from './request.ts';
import { qualified, StatusError } from './status-error.ts';

export interface Denial {
  /** `*` for every verb. */
  readonly verb: string;
  /** `pods`, `pods/exec`, ... */
  readonly resource: string;
}

export const USER = 'system:serviceaccount:gc:controller';

/** Who may do what: a bearer token, and single things taken away from whoever has it. */
export class Access {
  #tokens: Set<string>;
  readonly #denials = new Set<Denial>();
  #quota: { readonly name: string; readonly pods: number } | undefined;

  constructor(token: string) {
    this.#tokens = new Set([token]);
  }

  /** Only these are good from now on; with none, every request is answered 401. */
  acceptTokens(...tokens: string[]): void {
    this.#tokens = new Set(tokens);
  }

  /** Answers what gives it back. */
  forbid(verb: string, resource: string): () => void {
    const denial = { verb, resource };
    this.#denials.add(denial);
    return () => this.#denials.delete(denial);
  }

  /** At most so many pods in a namespace; `undefined` for no limit. */
  limitPods(pods: number | undefined, name = 'pod-quota'): void {
    this.#quota = pods === undefined ? undefined : { name, pods };
  }

  /** @throws StatusError 401, 403 */
  check(request: ApiRequest): void {
    if (request.group === '' && !request.resource.includes('pods') && isOpen(request.path)) return;
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined || !this.#tokens.has(token))
      throw new StatusError(401, 'Unauthorized', 'Unauthorized');
    if (this.allows(request.verb, request.resource)) return;
    const { verb, resource, group, namespace, name = '' } = request;
    const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`;
    const what = qualified(resource, group);
    const message = `${what} "${name}" is forbidden: User "${USER}" cannot ${verb} resource "${resource}" in API group "${group}" ${where}`;
    throw new StatusError(403, 'Forbidden', name === '' ? message.replace(' ""', '') : message, {
      name,
      kind: resource,
    });
  }

  allows(verb: string, resource: string): boolean {
    return ![...this.#denials].some(
      (one) => (one.verb === '*' || one.verb === verb) && one.resource === resource,
    );
  }

  /** @throws StatusError 403 */
  checkQuota(podName: string, used: number): void {
    const quota = this.#quota;
    if (!quota || used < quota.pods) return;
    const numbers = `requested: pods=1, used: pods=${used}, limited: pods=${quota.pods}`;
    const message = `pods "${podName}" is forbidden: exceeded quota: ${quota.name}, ${numbers}`;
    throw new StatusError(403, 'Forbidden', message, { name: podName, kind: 'pods' });
  }
}

const isOpen = (path: string): boolean => ['/version', '/healthz', '/livez', '/readyz'].includes(path);
