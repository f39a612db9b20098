import { optionName } from './admin-options.ts';

/** All that each listed file answers to, its proper name first. Of several with one name the others keep folder and ending. */
export function offeredNames(
  files: readonly string[],
): readonly { readonly file: string; readonly names: readonly string[] }[] {
  const taken = new Set<string>();
  return files.map((file) => {
    const name = optionName(file).toLowerCase();
    if (taken.has(name)) return { file, names: [file] };
    taken.add(name);
    return { file, names: [optionName(file), file] };
  });
}
