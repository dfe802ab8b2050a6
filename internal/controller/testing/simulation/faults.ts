import type { Dice } from './dice.ts';
import type { CommitFate } from './guarded-database.ts';

/** What goes wrong with one call of a provider. */
export type CallFate = 'fine' | 'fails' | 'fails after its effect' | 'dies before' | 'dies after' | 'slow';

/** How an agent comes up. */
export interface StartFate {
  readonly delayMs: number;
  readonly how: 'ready' | 'dies' | 'limit' | 'asks' | 'never';
}

/** How bad the weather of one run is. Every figure is a probability per occasion. */
export interface Climate {
  readonly call: number;
  readonly death: number;
  readonly commit: number;
  readonly blind: number;
  readonly event: number;
  readonly start: number;
}

export const CALM: Climate = { call: 0, death: 0, commit: 0, blind: 0, event: 0, start: 0 };

/** Quiet runs find what bad luck hides, bad ones what luck hides. */
export function climateOf(dice: Dice): Climate {
  const level = dice.pick([0, 0.3, 1, 1, 2]);
  const part = () => level * dice.pick([0, 0.5, 1, 1]);
  return {
    call: 0.06 * part(),
    death: 0.004 * part(),
    commit: 0.02 * part(),
    blind: 0.12 * part(),
    event: 0.4 * part(),
    start: 0.3 * part(),
  };
}

/** Decides what goes wrong, call by call. */
export class Weather {
  dice: Dice;
  climate: Climate;
  /** The runtime cannot be asked at all. */
  blind = false;

  constructor(dice: Dice, climate: Climate) {
    this.dice = dice;
    this.climate = climate;
  }

  ofCall(): CallFate {
    const { dice, climate } = this;
    if (dice.chance(climate.death)) return dice.pick(['dies before', 'dies after']);
    if (!dice.chance(climate.call)) return 'fine';
    return dice.pick(['fails', 'fails after its effect', 'slow', 'slow']);
  }

  ofCommit(): CommitFate {
    const { dice, climate } = this;
    if (dice.chance(climate.death)) return dice.pick(['dies before', 'dies after']);
    if (!dice.chance(climate.commit)) return 'fine';
    return dice.pick(['busy', 'busy', 'full']);
  }

  isBlind(): boolean {
    return this.blind || this.dice.chance(this.climate.blind);
  }

  ofStart(): StartFate {
    const { dice, climate } = this;
    const delayMs = dice.int(200, 3_000);
    if (!dice.chance(climate.start)) return { delayMs, how: 'ready' };
    return dice.pick<StartFate>([
      { delayMs: dice.int(10_000, 80_000), how: 'ready' },
      { delayMs, how: 'dies' },
      { delayMs, how: 'dies' },
      { delayMs, how: 'limit' },
      { delayMs, how: 'asks' },
      { delayMs, how: 'never' },
    ]);
  }

  /** Lost, doubled, late and so in another order, or fine. */
  ofEvent(): readonly number[] {
    const { dice, climate } = this;
    if (!dice.chance(climate.event)) return [0];
    return dice.pick([[], [0, 0], [dice.int(1, 5_000)], [0, dice.int(1, 20_000)]]);
  }

  slowMs(): number {
    return this.dice.pick([this.dice.int(10, 500), this.dice.int(500, 5_000), this.dice.int(5_000, 20_000)]);
  }
}
