/** The part of a terminal emulator's parser that mode tracking hooks into. Handlers answer `false`: "go on as usual". */
export interface SequenceHooks {
  registerCsiHandler(
    id: { readonly prefix?: string; readonly intermediates?: string; readonly final: string },
    handler: (params: (number | number[])[]) => boolean,
  ): unknown;
  registerEscHandler(id: { readonly final: string }, handler: () => boolean): unknown;
}

/** Private modes that no serializer restores: mouse report encodings and alternate scroll. */
const EXTRA_MODES = new Set([1005, 1006, 1007, 1015, 1016]);
const CURSOR_MODE = 25;
const ALTERNATE_SCREEN_MODES = new Set([47, 1047, 1049]);
/** Deeper stacks are a program's mistake; the oldest entries go. */
const KEYBOARD_STACK_DEPTH = 32;

interface Margins {
  readonly top: number;
  readonly bottom: number;
}

interface KeyboardState {
  flags: number;
  stack: number[];
}

/**
 * What a program asked of its terminal beyond what the serializer brings back: cursor visibility and shape, mouse
 * report encodings, scroll region, enhanced keyboard flags (the kitty protocol), modifyOtherKeys, title.
 */
export class ScreenModes {
  title = '';
  #cursorVisible = true;
  #cursorShape = 0;
  #modifyOtherKeys = 0;
  readonly #extra = new Set<number>();
  readonly #margins = new Map<boolean, Margins>();
  readonly #keyboards = new Map<boolean, KeyboardState>();
  readonly #inAlternate: () => boolean;

  constructor(hooks: SequenceHooks, inAlternate: () => boolean) {
    this.#inAlternate = inAlternate;
    const watch = (
      id: { prefix?: string; intermediates?: string; final: string },
      see: (params: readonly number[]) => void,
    ) =>
      hooks.registerCsiHandler(id, (params) => {
        see(params.map((p) => (typeof p === 'number' ? p : (p[0] ?? 0))));
        return false;
      });
    watch({ prefix: '?', final: 'h' }, (modes) => {
      for (const mode of modes) this.#set(mode, true);
    });
    watch({ prefix: '?', final: 'l' }, (modes) => {
      for (const mode of modes) this.#set(mode, false);
    });
    watch({ final: 'r' }, ([top = 0, bottom = 0]) => this.#setMargins(top, bottom));
    watch({ intermediates: ' ', final: 'q' }, ([shape = 0]) => {
      this.#cursorShape = shape;
    });
    watch({ prefix: '>', final: 'm' }, ([resource = 0, value = 0]) => {
      if (resource === 4) this.#modifyOtherKeys = value;
    });
    watch({ prefix: '>', final: 'u' }, ([flags = 0]) => this.#pushKeyboard(flags));
    watch({ prefix: '<', final: 'u' }, ([count = 1]) => this.#popKeyboard(Math.max(1, count)));
    watch({ prefix: '=', final: 'u' }, ([flags = 0, how = 1]) => this.#changeKeyboard(flags, how || 1));
    watch({ intermediates: '!', final: 'p' }, () => this.#softReset());
    hooks.registerEscHandler({ final: 'c' }, () => {
      this.reset();
      return false;
    });
  }

  reset(): void {
    this.#softReset();
    this.title = '';
    this.#cursorShape = 0;
    this.#modifyOtherKeys = 0;
    this.#extra.clear();
    this.#margins.clear();
    this.#keyboards.clear();
  }

  /** A changed size makes every emulator drop the scroll region. */
  resized(): void {
    this.#margins.clear();
  }

  /** The scroll region of the present screen, one-based; `undefined` when it is the whole screen. */
  get margins(): Margins | undefined {
    return this.#margins.get(this.#inAlternate());
  }

  /** Sequences that bring it back on a fresh terminal. Margins move the cursor: its place must be set afterwards. */
  restore(include: { readonly margins: boolean }): string {
    let text = '';
    for (const mode of this.#extra) text += `\x1b[?${mode}h`;
    if (this.#cursorShape !== 0) text += `\x1b[${this.#cursorShape} q`;
    if (this.#modifyOtherKeys !== 0) text += `\x1b[>4;${this.#modifyOtherKeys}m`;
    const keyboard = this.#keyboard.flags;
    if (keyboard !== 0) text += `\x1b[=${keyboard};1u`;
    if (this.title !== '') text += `\x1b]2;${this.title}\x07`;
    const margins = include.margins ? this.margins : undefined;
    if (margins) text += `\x1b[${margins.top};${margins.bottom}r`;
    if (!this.#cursorVisible) text += '\x1b[?25l';
    return text;
  }

  #set(mode: number, on: boolean): void {
    if (mode === CURSOR_MODE) this.#cursorVisible = on;
    if (EXTRA_MODES.has(mode)) {
      if (on) this.#extra.add(mode);
      else this.#extra.delete(mode);
    }
    if (ALTERNATE_SCREEN_MODES.has(mode) && !on) {
      this.#margins.delete(true);
      this.#keyboards.delete(true);
    }
  }

  #setMargins(top: number, bottom: number): void {
    if (top <= 1 && bottom === 0) this.#margins.delete(this.#inAlternate());
    else if (bottom === 0 || bottom > top) {
      this.#margins.set(this.#inAlternate(), {
        top: Math.max(1, top),
        bottom: bottom === 0 ? 9_999 : bottom,
      });
    }
  }

  get #keyboard(): KeyboardState {
    const key = this.#inAlternate();
    const state = this.#keyboards.get(key) ?? { flags: 0, stack: [] };
    this.#keyboards.set(key, state);
    return state;
  }

  #pushKeyboard(flags: number): void {
    const state = this.#keyboard;
    state.stack.push(state.flags);
    if (state.stack.length > KEYBOARD_STACK_DEPTH) state.stack.shift();
    state.flags = flags;
  }

  #popKeyboard(count: number): void {
    const state = this.#keyboard;
    for (let i = 0; i < Math.min(count, KEYBOARD_STACK_DEPTH); i += 1) state.flags = state.stack.pop() ?? 0;
  }

  #changeKeyboard(flags: number, how: number): void {
    const state = this.#keyboard;
    if (how === 1) state.flags = flags;
    else if (how === 2) state.flags |= flags;
    else if (how === 3) state.flags &= ~flags;
  }

  #softReset(): void {
    this.#cursorVisible = true;
    this.#margins.delete(this.#inAlternate());
  }
}
