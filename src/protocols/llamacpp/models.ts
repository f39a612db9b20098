import { AppError } from '../../core/errors.ts';
import { findNamed, sameName } from '../../core/model-names.ts';
import type { HeldModel, ModelMemory } from '../../core/models-view.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { adminOnly } from '../access.ts';
import type { DialectContext } from '../dialect.ts';
import { bodyOf, endpointRow, type ModelEndpoint } from '../endpoint.ts';
import * as f from '../fields.ts';
import { llamacppFamily } from './errors.ts';

export interface ModelMemoryParts extends Pick<DialectContext, 'modelName'> {
  /** The text model of the call. */
  readonly name: string;
  readonly memory?: ModelMemory | undefined;
}

const modelFields = {
  model: f.honoured(f.readText, 'a model of any kind, by the names of `GET /v1/models` and `GET /api/extra/models`'),
};

const row = endpointRow(adminOnly, {
  method: 'POST',
  match: 'exact',
  family: llamacppFamily,
  fields: modelFields,
  modelSelection: 'own-name',
});

/** Load and unload by name. Both answer at once; `GET /api/extra/models` shows the state. */
export const modelMemoryEndpoints: readonly ModelEndpoint<ModelMemoryParts>[] = [
  row('/models/load', 'Load a model.', (call, context) => change(call, context, 'load')),
  row('/models/unload', 'Unload a model; the next request for it loads it again.', (call, context) =>
    change(call, context, 'unload'),
  ),
];

async function change(call: Call, context: ModelMemoryParts, action: 'load' | 'unload'): Promise<Reply> {
  const { model } = f.readFields(modelFields, await bodyOf(call));
  const found = findHeld(model, context);
  if (!found) throw new AppError('model-not-found', { model });
  // Its state shows how it goes.
  context.memory?.[action](found.kind, found.name).catch(() => undefined);
  return json({ success: true });
}

/** The text model of the call, or one of another kind. */
function findHeld(asked: string, { name, modelName, memory }: ModelMemoryParts): HeldModel | undefined {
  const held = memory?.list() ?? [];
  const isText = sameName(asked, modelName()) || sameName(asked, name);
  const text = held.find((one) => one.kind === 'text' && one.name === name);
  return (isText ? text : undefined) ?? findNamed(held, (one) => [one.name], asked);
}
