import type { FlagValue } from './flag.ts';
import { exclusiveGroups, type FlagKey, flagOf, inUse, type Layer, type NamedFlag, sameValue } from './flags.ts';
import { badFlags, type Problem } from './problem.ts';
import type { Reading } from './value.ts';

/**
 * What one source (command line, config file) says, with older flags translated. A translated value never beats one
 * that the same source gives under today's name, whichever comes first.
 */
export class SourceValues {
  readonly notes: string[] = [];
  readonly #values = new Map<FlagKey, FlagValue>();
  readonly #translated = new Map<string, FlagValue>();

  take(flag: NamedFlag, name: string, reading: Extract<Reading, { ok: true }>): void {
    if (reading.clampedFrom !== undefined && 'min' in flag.definition) {
      const { min, max } = flag.definition;
      this.notes.push(`${name} ${reading.clampedFrom} is outside ${min} to ${max}; using ${reading.value}.`);
    }
    if (flag.type === 'flag') {
      this.#values.set(flag.key, this.#joined(flag, reading.value));
      return;
    }
    const { definition } = flag;
    for (const [key, value] of Object.entries(definition.translate?.(reading.value) ?? {})) {
      this.#translated.set(key, value);
    }
    // A config file repeats every old key; only one that says something is worth a line.
    if (sameValue(reading.value, definition.default)) return;
    const effect = definition.translate ? 'is deprecated' : 'is deprecated and has no effect';
    this.notes.push(`${name} ${effect}: ${definition.instead}.`);
  }

  #joined({ key, definition }: Extract<NamedFlag, { type: 'flag' }>, value: FlagValue): FlagValue {
    const before = this.#values.get(key);
    if (definition.type !== 'list' || !definition.repeats) return value;
    return Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
  }

  has(key: string): boolean {
    return this.#values.has(key as FlagKey);
  }

  values(): Layer {
    return new Map([...(this.#translated as Map<FlagKey, FlagValue>), ...this.#values]);
  }

  get problems(): Problem[] {
    return exclusiveGroups.flatMap((group) => {
      const used = group.filter((key) => inUse(key, this.values().get(key) ?? flagOf(key).default));
      if (used.length < 2) return [];
      return [badFlags(`${used.map((key) => flagOf(key).names[0]).join(' and ')} exclude each other.`)];
    });
  }
}
