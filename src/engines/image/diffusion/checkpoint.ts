import { closeSync, openSync, readSync } from 'node:fs';

/** Families of models that differ in what suits them. */
export type Family = 'sd1' | 'sd2' | 'sdxl' | 'sd3' | 'flux' | 'flux2' | 'other';

/** More than the names of all tensors take in any of the formats, which have them in front. */
const beginningBytes = 4 * 2 ** 20;

/** The first that is found tells the family; the names are those of the checkpoints that people pass around. */
const marks: readonly (readonly [mark: RegExp, family: Family])[] = [
  [/double_stream_modulation_img/, 'flux2'],
  [/double_blocks\.\d/, 'flux'],
  [/joint_blocks\.\d/, 'sd3'],
  [/conditioner\.embedders\.1|cond_stage_model\.1\.|diffusion_model\.label_emb|add_embedding\.linear_1/, 'sdxl'],
  [/cond_stage_model\.model\.(?:transformer|token_embedding|positional_embedding)/, 'sd2'],
  [/cond_stage_model\.transformer|diffusion_model\.input_blocks|^unet\.|down_blocks\.0/, 'sd1'],
];

export function familyOf(beginning: string): Family {
  return marks.find(([mark]) => mark.test(beginning))?.[1] ?? 'other';
}

/** Whether a text encoder is a T5; all others that are not CLIP are language models. */
export function isT5(beginning: string): boolean {
  return /enc\.blk\.\d|encoder\.block\.\d/.test(beginning);
}

/** The names of what is in a file, among other bytes; empty where it cannot be read. */
export function beginningOf(path: string): string {
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(beginningBytes);
      return bytes.toString('latin1', 0, readSync(file, bytes, 0, beginningBytes, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    return '';
  }
}
