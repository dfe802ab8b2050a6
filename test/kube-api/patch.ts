import { isRecord } from './shapes.ts';
import { badRequest, StatusError } from './status-error.ts';

/** @throws StatusError 415 for a kind of patch that is not known here */
export function applyPatch(contentType: string | undefined, current: unknown, patch: unknown): unknown {
  const kind = contentType?.split(';')[0]?.trim();
  switch (kind) {
    case 'application/merge-patch+json':
    // For metadata, annotations and labels the two kinds are the same.
    case 'application/strategic-merge-patch+json':
      if (!isRecord(patch)) throw badRequest('the patch is not an object');
      return merge(current, patch);
    case 'application/json-patch+json':
      return jsonPatch(current, patch);
    default:
      throw new StatusError(
        415,
        'UnsupportedMediaType',
        `the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json`,
      );
  }
}

/** RFC 7386. */
function merge(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  }
  return result;
}

/** RFC 6902: add, replace, remove and test on objects. */
function jsonPatch(current: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw badRequest('a JSON patch is a list of operations');
  const result = structuredClone(current);
  for (const step of patch) applyStep(result, step);
  return result;
}

function applyStep(root: unknown, step: unknown): void {
  if (!isRecord(step) || typeof step['path'] !== 'string') throw badRequest('an operation has no path');
  const keys = step['path']
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop() ?? '';
  let parent: unknown = root;
  for (const key of keys) parent = isRecord(parent) ? parent[key] : undefined;
  const missing = () =>
    new StatusError(
      422,
      'Invalid',
      `the server rejected our request due to an error in our request: ${step['path']}`,
    );
  if (!isRecord(parent)) throw missing();
  switch (step['op']) {
    case 'add':
      parent[last] = step['value'];
      return;
    case 'replace':
      if (!(last in parent)) throw missing();
      parent[last] = step['value'];
      return;
    case 'remove':
      if (!(last in parent)) throw missing();
      delete parent[last];
      return;
    case 'test':
      if (JSON.stringify(parent[last]) !== JSON.stringify(step['value'])) throw missing();
      return;
    default:
      throw badRequest(`the operation ${String(step['op'])} is not known`);
  }
}
