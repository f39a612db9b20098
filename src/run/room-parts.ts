import type { Settings } from '../config/flags.ts';
import { alwaysThere } from '../core/text-source.ts';
import { noTextEngine } from '../engines/none.ts';
import { systemTimer } from '../http/timers.ts';
import type { Registry } from '../registry/registry.ts';
import type { ModelParts } from '../server/model-context.ts';
import type { Arrival } from './arriving.ts';
import type { Patience } from './in-time.ts';
import { keptText } from './kept-text.ts';
import type { ModelKinds } from './kinds.ts';
import { otherSources } from './other-models.ts';
import { hasText, type PreparedModel } from './prepared-model.ts';

/** What the context of a model is built from. */
export function modelParts(model: PreparedModel, registry: Registry<ModelKinds>, arrival?: Arrival): ModelParts {
  const { name, settings, format, elsewhere } = model;
  const patience = patienceOf(settings);
  const others = otherSources(registry, model.others, patience);
  if (!hasText(model))
    return { name, settings, format, others, source: alwaysThere(noTextEngine(settings.contextsize)) };
  const entry = () => registry.list().find((one) => one.kind === 'text' && one.name === name);
  return {
    name,
    settings,
    format,
    others,
    ...(elsewhere ? { elsewhere } : {}),
    source: keptText(registry, model, { patience, arrival }),
    resting: {
      restAfter: (milliseconds) => registry.keepFor('text', name, milliseconds),
      expiresAt: () => entry()?.expiresAt ?? Number.POSITIVE_INFINITY,
      loaded: () => entry()?.resident ?? false,
    },
  };
}

function patienceOf({ routermode, reqtimeout }: Settings): Patience | undefined {
  return routermode ? { seconds: reqtimeout, startTimer: systemTimer } : undefined;
}
