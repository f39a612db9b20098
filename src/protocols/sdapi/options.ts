import { AppError } from '../../core/errors.ts';
import type { ImageFacts } from '../../core/image.ts';
import { jsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { readFields } from '../fields/table.ts';
import { modelHash } from '../pictures/picture-text.ts';
import { optionFields } from './fields.ts';

/** Clients choose the entry of the list of models whose title this is. */
export function optionsOf(facts: ImageFacts | undefined): object {
  return {
    samples_format: 'png',
    sd_model_checkpoint: facts?.title ?? '',
    sd_checkpoint_hash: facts?.sha256 ?? '',
    sd_vae: 'Automatic',
    CLIP_stop_at_last_layers: 1,
    eta_noise_seed_delta: 0,
  };
}

/** There is one model to choose, and whoever names another one must not think that it draws now. */
export async function setOptions(call: Call, facts: ImageFacts | undefined): Promise<Reply> {
  const body = await jsonObject(call.body, { empty: 'object', signal: call.signal });
  const { sd_model_checkpoint: model } = readFields(optionFields, body);
  if (model && !(facts && isNameOf(facts, model))) throw new AppError('model-not-found', { model });
  return json(null);
}

function isNameOf(facts: ImageFacts, asked: string): boolean {
  const file = facts.path.split(/[/\\]/).at(-1) ?? '';
  const names = [facts.title, facts.name, facts.path, file, facts.sha256 ?? '', modelHash(facts)];
  return names.some((name) => name !== '' && name.toLowerCase() === asked.trim().toLowerCase());
}
