import { GcError } from '../../platform/errors.ts';
import { positionAt } from '../document/source-document.ts';

/** A template and where its text comes from. */
export interface TemplateSource {
  /** The name under which the whole text can be called: usually the file's path. */
  readonly name: string;
  readonly text: string;
  /** What messages call the place: a file path, or a value path such as `agents[0].pre_start[1]`. */
  readonly file: string;
}

/** A template that cannot be parsed or rendered. `reason` is the message without the place. */
export class TemplateError extends GcError {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
  readonly reason: string;

  constructor(source: TemplateSource, offset: number, reason: string, next?: string) {
    const { line, column } = positionAt(source.file, source.text, offset);
    super(
      'template-error',
      `${source.file}:${line}:${column}: ${reason}`,
      next === undefined ? {} : { next },
    );
    this.file = source.file;
    this.line = line;
    this.column = column;
    this.reason = reason;
  }
}
