import type { ScriptedProgram, ScriptedTerminal } from './scripted-backend.ts';

/** A question that a scripted agent asks before it works. */
export interface ScriptedQuestion {
  readonly text: readonly string[];
  readonly options: readonly string[];
  /** Where the mark stands at first. */
  readonly marked: number;
  /** The option that lets it go on; any other ends the program with exit 1. */
  readonly right: number;
  /** The program reacts to Enter only after this long. */
  readonly slowMs?: number;
  /** It comes up only this long after the one before (or the start) was done, over an input box that shows already. */
  readonly afterMs?: number;
  /** The question stays however often it is answered. */
  readonly sticky?: boolean;
}

export interface ScriptedAgentOptions {
  readonly questions?: readonly ScriptedQuestion[];
  /** Until the input box is drawn, milliseconds. */
  readonly readyMs?: number;
  /** Enter within this long after a paste is taken as a newline. */
  readonly burstMs?: number;
  /** Pasted text is drawn only after this long. */
  readonly drawMs?: number;
  /** How long it works on a message. */
  readonly workMs?: number;
  /** Written in the input box before anybody typed. */
  readonly leftover?: string;
  /** Swallows the first so many Enter. */
  readonly deafEnters?: number;
  /** The first so many arrow keys are lost. */
  readonly deafArrows?: number;
  /** The mark and the space behind it, as drawn. */
  readonly mark?: string;
  readonly processName?: string;
}

const RULE = '─'.repeat(80);
/** More lines than this are drawn as one placeholder. */
const FOLDED_PASTE_LINES = 4;

/** Acts like a full-screen agent program: questions with a marked choice, a framed input box, bursts, turns. */
export class ScriptedAgent implements ScriptedProgram {
  /** Messages that it took, whole. */
  readonly messages: string[] = [];
  /** Keys that it saw, in order. */
  readonly keys: string[] = [];
  readonly #options: ScriptedAgentOptions;
  #questions: ScriptedQuestion[];
  #asking: { question: ScriptedQuestion; marked: number } | undefined;
  #ready = false;
  #draft: string;
  #drawn: string;
  #pastedAt = Number.NEGATIVE_INFINITY;
  #working = false;
  #deafEnters: number;
  #deafArrows: number;

  constructor(options: ScriptedAgentOptions = {}) {
    this.#options = options;
    this.#questions = [...(options.questions ?? [])];
    this.#draft = options.leftover ?? '';
    this.#drawn = this.#draft;
    this.#deafEnters = options.deafEnters ?? 0;
    this.#deafArrows = options.deafArrows ?? 0;
  }

  begin(terminal: ScriptedTerminal): void {
    terminal.processNames = [this.#options.processName ?? 'claude'];
    terminal.later(this.#options.readyMs ?? 100, () => this.#next(terminal));
  }

  /** Asks something now, as a permission question would. */
  ask(terminal: ScriptedTerminal, question: ScriptedQuestion): void {
    this.#asking = { question, marked: question.marked };
    this.#draw(terminal);
  }

  key(terminal: ScriptedTerminal, key: string): void {
    this.keys.push(key);
    if (this.#asking) this.#answerKey(terminal, this.#asking, key);
    else if (this.#ready) this.#editKey(terminal, key);
  }

  paste(terminal: ScriptedTerminal, text: string): void {
    if (!this.#ready || this.#asking) return;
    this.#draft += text;
    this.#pastedAt = terminal.now();
    const show = () => {
      this.#drawn = this.#draft;
      this.#draw(terminal);
    };
    if (this.#options.drawMs) terminal.later(this.#options.drawMs, show);
    else show();
  }

  #next(terminal: ScriptedTerminal): void {
    const question = this.#questions[0];
    if (question && !question.afterMs) {
      this.#questions = this.#questions.slice(1);
      this.ask(terminal, question);
      return;
    }
    this.#ready = true;
    if (question?.afterMs) {
      this.#questions = this.#questions.slice(1);
      terminal.later(question.afterMs, () => this.ask(terminal, question));
    }
    this.#draw(terminal);
  }

  #answerKey(
    terminal: ScriptedTerminal,
    asking: { question: ScriptedQuestion; marked: number },
    key: string,
  ): void {
    const { question } = asking;
    const count = question.options.length;
    if (key === 'Up' || key === 'Down') {
      if (this.#deafArrows > 0) this.#deafArrows -= 1;
      else asking.marked = (asking.marked + (key === 'Down' ? 1 : count - 1)) % count;
      this.#draw(terminal);
      return;
    }
    const chosen = key === 'Enter' ? asking.marked : Number(key) - 1;
    if (!(chosen >= 0 && chosen < count) || question.sticky) return;
    const react = () => {
      if (this.#asking !== asking) return;
      this.#asking = undefined;
      if (chosen === question.right) this.#next(terminal);
      else terminal.exit({ code: 1 });
    };
    if (question.slowMs) terminal.later(question.slowMs, react);
    else react();
  }

  #editKey(terminal: ScriptedTerminal, key: string): void {
    if (key === 'C-u') this.#draft = this.#draft.replace(/[^\n]*$/, '');
    if (key === 'BSpace') this.#draft = this.#draft.slice(0, -1);
    if (key === 'Enter') this.#enter(terminal);
    this.#drawn = this.#draft;
    this.#draw(terminal);
  }

  #enter(terminal: ScriptedTerminal): void {
    if (this.#deafEnters > 0) {
      this.#deafEnters -= 1;
      return;
    }
    if (terminal.now() - this.#pastedAt < (this.#options.burstMs ?? 0)) {
      this.#draft += '\n';
      return;
    }
    if (this.#draft === '') return;
    this.messages.push(this.#draft);
    this.#draft = '';
    this.#working = (this.#options.workMs ?? 0) > 0;
    terminal.later(this.#options.workMs ?? 0, () => {
      this.#working = false;
      this.#draw(terminal);
    });
  }

  #draw(terminal: ScriptedTerminal): void {
    if (this.#asking) {
      const { question, marked } = this.#asking;
      const options = question.options.map((o, i) => `${i === marked ? '❯' : ' '} ${i + 1}. ${o}`);
      terminal.draw([RULE, ...question.text, '', ...options, '', 'Enter to confirm · Esc to cancel']);
      return;
    }
    const mark = this.#options.mark ?? '❯\u00a0';
    const history = this.messages.map((message) => `${mark}${message.split('\n')[0]}`);
    const status = this.#working ? ['✻ Pondering… (1s · esc to interrupt)', ''] : [''];
    const lines = this.#drawn.split('\n');
    const shown = lines.length > FOLDED_PASTE_LINES ? [`[Pasted text #1 +${lines.length - 1} lines]`] : lines;
    const box = shown.map((line, i) => (i === 0 ? `${mark}${line}` : `  ${line}`));
    const screen = ['Agent v1', ...history, ...status, RULE, ...box, RULE, '  ? for shortcuts', '', ''];
    const row = screen.length - 5;
    terminal.draw(screen, { row, column: (screen[row] ?? '').length });
  }
}
