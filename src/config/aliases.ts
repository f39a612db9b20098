import { type ModelAlias, sameName } from '../core/model-names.ts';
import { badFlags, type Problem } from './problem.ts';

/** The pairs of `--modelalias`, in order: the first that matches wins. */
export function modelAliases(texts: readonly string[] | null): readonly ModelAlias[] {
  return (texts ?? []).flatMap((text) => readAlias(text) ?? []);
}

export function aliasProblems(texts: readonly string[] | null): readonly Problem[] {
  const wrong = (texts ?? []).filter((text) => !readAlias(text));
  return wrong.map((text) => badFlags(`--modelalias must be NAME=MODEL, and ${text} is not.`));
}

/** The aliases that mean none of these models. Files come and go, so this is no reason not to start. */
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
