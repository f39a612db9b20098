import { type ModelAlias, sameName } from '../core/model-names.ts';
import { badFlags, type Problem } from './flag.ts';

/** The pairs of `--modelalias`; the first match wins. */
export function modelAliases(texts: readonly string[] | null): readonly ModelAlias[] {
  return (texts ?? []).flatMap((text) => readAlias(text) ?? []);
}

export function aliasProblems(texts: readonly string[] | null): readonly Problem[] {
  const wrong = (texts ?? []).filter((text) => !readAlias(text));
  return wrong.map((text) => badFlags(`--modelalias must be NAME=MODEL, not ${text}.`));
}

/** Notes about aliases of unknown models. Not an error, because model files come and go. */
export function aliasRemarks(aliases: readonly ModelAlias[], names: readonly string[]): string[] {
  return aliases
    .filter(({ target }) => !names.some((name) => sameName(name, target)))
    .map(({ pattern, target }) => `--modelalias ${pattern}=${target}: there is no model ${target}.`);
}

function readAlias(text: string): ModelAlias | undefined {
  const at = text.indexOf('=');
  const [pattern, target] = [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  return at > 0 && pattern !== '' && target !== '' ? { pattern, target } : undefined;
}
