export type { core, infer, ZodType } from 'zod';
export {
  array,
  boolean,
  enum,
  int,
  number,
  object,
  record,
  strictObject,
  string,
  toJSONSchema,
  union,
  unknown,
  ZodArray,
  ZodObject,
  ZodOptional,
  ZodRecord,
} from 'zod';
