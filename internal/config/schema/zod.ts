// By name, not as the whole: the library's texts in forty languages are half of its weight, and every command that reads
// a city would load them.
export * as z from './zod-parts.ts';
