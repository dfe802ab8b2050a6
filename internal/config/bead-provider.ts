/** Where the work of a city can be kept, besides `exec:<script>`. */
export const BEAD_PROVIDERS: readonly string[] = ['sqlite', 'bd', 'file'];

/** Whether `GC_BEADS` or the city file may say this. */
export function isBeadProvider(text: string): boolean {
  return BEAD_PROVIDERS.includes(text) || /^exec:./.test(text);
}

export interface BeadsSettings {
  /** Where the work is. */
  readonly provider: string;
  /** What the city file says, where something else counts. */
  readonly unused?: string;
}
