/** Set at build time by the bundler; absent when the sources run directly. */
declare const __GC_VERSION__: string | undefined;
declare const __GC_COMMIT__: string | undefined;
declare const __GC_BUILT__: string | undefined;

export interface BuildInfo {
  readonly version: string;
  readonly commit: string;
  readonly built: string;
}

/** What `gc version` prints. Unbundled sources are `dev`. */
export const buildInfo: BuildInfo = {
  version: typeof __GC_VERSION__ === 'string' && __GC_VERSION__ ? __GC_VERSION__ : 'dev',
  commit: typeof __GC_COMMIT__ === 'string' && __GC_COMMIT__ ? __GC_COMMIT__ : 'unknown',
  built: typeof __GC_BUILT__ === 'string' && __GC_BUILT__ ? __GC_BUILT__ : 'unknown',
};
