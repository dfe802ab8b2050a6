declare module 'node-pty/lib/utils.js' {
  /** Loads one of node-pty's compiled parts; `dir` is relative to that file's own folder. */
  export function loadNativeModule(name: string): { readonly dir: string; readonly module: unknown };
}
