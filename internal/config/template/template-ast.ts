import type { TemplateSource } from './template-error.ts';

/** A parsed Go text/template: its own body and the templates it defines. */
export interface ParsedTemplate {
  readonly source: TemplateSource;
  readonly body: readonly TemplateNode[];
  readonly defines: ReadonlyMap<string, TemplateBody>;
}

export interface TemplateBody {
  readonly source: TemplateSource;
  readonly body: readonly TemplateNode[];
}

export type TemplateNode =
  | { readonly kind: 'text'; readonly text: string; readonly at: number }
  | { readonly kind: 'action'; readonly pipe: Pipeline; readonly at: number }
  | {
      readonly kind: 'if' | 'with' | 'range';
      readonly pipe: Pipeline;
      readonly body: readonly TemplateNode[];
      readonly otherwise: readonly TemplateNode[];
      readonly at: number;
    }
  | {
      readonly kind: 'template';
      readonly name: string;
      readonly pipe: Pipeline | undefined;
      readonly at: number;
    }
  | { readonly kind: 'break' | 'continue'; readonly at: number };

export interface Pipeline {
  /** `$i, $e :=` or `$x =`; empty when there is none. */
  readonly variables: readonly string[];
  readonly declares: boolean;
  readonly commands: readonly Command[];
  readonly at: number;
}

export interface Command {
  readonly operands: readonly [Operand, ...Operand[]];
  readonly at: number;
}

export type Operand =
  | { readonly kind: 'dot'; readonly at: number }
  | { readonly kind: 'nil'; readonly at: number }
  | { readonly kind: 'literal'; readonly value: string | number | boolean; readonly at: number }
  | { readonly kind: 'function'; readonly name: string; readonly at: number }
  | { readonly kind: 'variable'; readonly name: string; readonly at: number }
  | { readonly kind: 'pipeline'; readonly pipe: Pipeline; readonly at: number }
  | { readonly kind: 'field'; readonly of: Operand; readonly name: string; readonly at: number };
