/** Something of unknown form as an object: what came as JSON from another program, before its form is known. */
export type Fields = Readonly<Record<string, unknown>>;

/** An object that is neither `null` nor a list. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Its fields; none when it is no object. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}
