import type { NudgeRequest, TakenMark } from '../../controller/city-api.ts';
import { GcError } from '../../platform/errors.ts';

/** A string field of a JSON body. @throws GcError `invalid-request` */
export function requiredText(body: unknown, field: string): string {
  const value = optionalText(body, field);
  if (value === undefined || value === '') throw new GcError('invalid-request', `"${field}" is required`);
  return value;
}

/** A string field that may be absent. @throws GcError `invalid-request` */
export function optionalText(body: unknown, field: string): string | undefined {
  const value = fieldOf(body, field);
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new GcError('invalid-request', `"${field}" must be a string`);
  return value;
}

/** A switch that may be absent. @throws GcError `invalid-request` */
export function flagOf(body: unknown, field: string): boolean {
  const value = fieldOf(body, field) ?? false;
  if (typeof value !== 'boolean') throw new GcError('invalid-request', `"${field}" must be true or false`);
  return value;
}

/** A number of at least 0 in a JSON body. @throws GcError `invalid-request` */
export function countOr(body: unknown, field: string, otherwise: number): number {
  const value = fieldOf(body, field) ?? otherwise;
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) {
    throw new GcError('invalid-request', `"${field}" must be a number of at least 0`);
  }
  return value;
}

/** A number of at least 0 that may be absent. @throws GcError `invalid-request` */
export function optionalCount(body: unknown, field: string): number | undefined {
  return fieldOf(body, field) === undefined ? undefined : countOr(body, field, 0);
}

/** A list of strings; none where it is absent. @throws GcError `invalid-request` */
export function textsOf(body: unknown, field: string): readonly string[] {
  const value = fieldOf(body, field) ?? [];
  const isList = Array.isArray(value) && value.every((each) => typeof each === 'string');
  if (isList) return value;
  throw new GcError('invalid-request', `"${field}" must be a list of strings`);
}

/** A number that may be absent. @throws GcError `invalid-request` */
export function optionalNumber(body: unknown, field: string): number | undefined {
  const value = fieldOf(body, field);
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new GcError('invalid-request', `"${field}" must be a number`);
}

/** An unsigned whole number of a query string. @throws GcError `invalid-request` */
export function queryCount(text: string | undefined, field: string): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,15}$/.test(text)) throw new GcError('invalid-request', `"${field}" must be a whole number`);
  return Number(text);
}

const DELIVERIES = ['wait-idle', 'immediate', 'queue'] as const;

/** @throws GcError `invalid-request` */
export function deliveryOf(word: string | undefined): NudgeRequest['delivery'] {
  if (word === undefined) return undefined;
  const found = DELIVERIES.find((each) => each === word);
  if (found) return found;
  throw new GcError(
    'invalid-request',
    `unknown delivery mode ${JSON.stringify(word)} (want immediate, wait-idle, or queue)`,
  );
}

/** `taken`: what a hook was handed. @throws GcError `invalid-request` */
export function takenMarks(body: unknown): readonly TakenMark[] {
  const taken = fieldOf(body, 'taken');
  if (!Array.isArray(taken)) throw new GcError('invalid-request', '"taken" must be a list');
  return taken.map((each: unknown) => ({ id: requiredText(each, 'id'), fence: countOr(each, 'fence', 0) }));
}

function fieldOf(body: unknown, field: string): unknown {
  if (body === undefined) return undefined;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new GcError('invalid-request', 'the request body must be a JSON object');
  }
  return Object.hasOwn(body, field) ? (body as Record<string, unknown>)[field] : undefined;
}
