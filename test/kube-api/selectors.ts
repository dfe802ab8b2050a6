import type { KubeObject } from './shapes.ts';
import { badRequest } from './status-error.ts';

export type Matches = (object: KubeObject) => boolean;

/** `labelSelector` and `fieldSelector` of a list or watch. @throws StatusError 400 */
export function selectorOf(query: URLSearchParams): Matches {
  const parts = [
    ...split(query.get('labelSelector') ?? '').map(labelRule),
    ...split(query.get('fieldSelector') ?? '').map(fieldRule),
  ];
  return (object) => parts.every((part) => part(object));
}

/** Commas inside `in (a,b)` do not part rules. */
function split(selector: string): string[] {
  const rules = selector.match(/(?:\([^)]*\)|[^,(])+/g) ?? [];
  return rules.map((rule) => rule.trim()).filter((rule) => rule !== '');
}

function labelRule(rule: string): Matches {
  const set = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/.exec(rule);
  if (set) {
    const [, key = '', operator, list = ''] = set;
    const values = list.split(',').map((value) => value.trim());
    return (object) => {
      const value = object.metadata.labels?.[key];
      const found = value !== undefined && values.includes(value);
      return operator === 'in' ? found : !found;
    };
  }
  const equal = /^([^=!\s]+)\s*(==|=|!=)\s*(\S*)$/.exec(rule);
  if (equal) {
    const [, key = '', operator, value] = equal;
    return (object) => (object.metadata.labels?.[key] === value) === (operator !== '!=');
  }
  const absent = /^!\s*(\S+)$/.exec(rule);
  if (absent) return (object) => object.metadata.labels?.[absent[1] ?? ''] === undefined;
  if (/^[^\s=!()]+$/.test(rule)) return (object) => object.metadata.labels?.[rule] !== undefined;
  throw badRequest(`unable to parse requirement: found '${rule}', expected: identifier`);
}

function fieldRule(rule: string): Matches {
  const parsed = /^([^=!]+?)(==|=|!=)(.*)$/.exec(rule);
  if (!parsed) throw badRequest(`invalid selector: '${rule}'; can't understand '${rule}'`);
  const [, field = '', operator, wanted] = parsed;
  const read = FIELDS[field];
  if (!read) throw badRequest(`field label not supported: ${field}`);
  return (object) => (read(object) === wanted) === (operator !== '!=');
}

const at = (object: unknown, ...path: string[]): string => {
  let value: unknown = object;
  for (const key of path) {
    value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  }
  return typeof value === 'string' ? value : '';
};

const FIELDS: Record<string, (object: KubeObject) => string> = {
  'metadata.name': (object) => object.metadata.name,
  'metadata.namespace': (object) => object.metadata.namespace,
  'status.phase': (object) => at(object, 'status', 'phase'),
  'spec.nodeName': (object) => at(object, 'spec', 'nodeName'),
  'spec.restartPolicy': (object) => at(object, 'spec', 'restartPolicy'),
};
