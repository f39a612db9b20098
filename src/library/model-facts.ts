import { stat } from 'node:fs/promises';
import { numberOf, readGguf, textOf } from '../gguf/gguf.ts';
import type { LocalModelFile } from './find-models.ts';

/** A found file with facts from its header, or why it is not a model. */
export type ModelFacts = Awaited<ReturnType<typeof modelFacts>>;

export async function modelFacts(file: LocalModelFile) {
  try {
    const header = await readGguf(file.path);
    const byType = new Map<string, number>();
    for (const { type, bytes } of header.tensors) byType.set(type, (byType.get(type) ?? 0) + bytes);
    const [largest] = [...byType].sort(([, a], [, b]) => b - a);
    return {
      ...file,
      type: 'model' as const,
      bytes: header.fileSize,
      /** ISO 8601. */
      modified: (await stat(file.path)).mtime.toISOString(),
      parameters: header.tensors.reduce((sum, { elements }) => sum + elements, 0),
      architecture: header.architecture,
      weights: largest?.[0] ?? 'none',
      context: numberOf(header, `${header.architecture}.context_length`),
      title: textOf(header, 'general.name'),
    };
  } catch (error) {
    return { ...file, type: 'damaged' as const, reason: (error as Error).message };
  }
}

/** The models with this name, or else those whose name ends so. */
export function modelsNamed(files: readonly LocalModelFile[], name: string): readonly LocalModelFile[] {
  const plain = (text: string): string => text.toLowerCase().replace(/\.gguf$/, '');
  const searched = plain(name);
  const exact = files.filter((file) => plain(file.name) === searched);
  if (exact.length > 0) return exact;
  return files.filter(
    (file) => plain(file.name).endsWith(`/${searched}`) || plain(file.name).split(':')[0] === searched,
  );
}
