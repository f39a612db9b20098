import type { WorldEntry } from './story.ts';

/**
 * The matching entries, lower orders first. Keys match anywhere, in any case. `roll` returns a number from 0 to 1 for entries
 * with a probability.
 */
export function matching(world: readonly WorldEntry[], text: string, roll: () => number = () => 0): WorldEntry[] {
  if (world.length === 0) return [];
  const searched = text.toLowerCase();
  return world
    .filter((entry) => belongs(entry, searched) && (entry.chance >= 100 || roll() * 100 < entry.chance))
    .sort((a, b) => a.order - b.order);
}

function belongs(entry: WorldEntry, searched: string): boolean {
  const has = (keys: readonly string[]): boolean => keys.some((key) => found(key, searched));
  if (!entry.enabled || entry.content.trim() === '' || has(entry.excludedBy)) return false;
  if (entry.constant) return true;
  return has(entry.keys) && (!entry.selective || entry.secondaryKeys.every(blank) || has(entry.secondaryKeys));
}

function found(key: string, searched: string): boolean {
  return !blank(key) && searched.includes(key.trim().toLowerCase());
}

function blank(key: string): boolean {
  return key.trim() === '';
}

/** Parses keys separated by commas. */
export function keysOf(typed: string): string[] {
  return typed
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');
}
