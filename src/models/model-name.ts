import type { Settings } from '../config/flags.ts';
import { requestDefaults } from '../config/gen-defaults.ts';
import { modelId } from '../core/model-names.ts';
import type { TextState } from '../core/text-service.ts';

const noModelName = 'inactive';

/** The name of the text model as clients of this family of servers expect it, one that is still loading included; a preset has its own. */
export function modelName(state: TextState, naming: Naming, preset?: string): string {
  if (state.type === 'none' || state.type === 'failed') return noModelName;
  const file = state.type === 'ready' ? state.model.name : state.name;
  return modelId(publicName(naming) || (preset ?? file));
}

/** The public name that replaces the model's own; empty if there is none. */
export function publicName({ hordeModelName, altered }: Naming): string {
  return hordeModelName === '' ? '' : `${altered ? 'debug-' : ''}${hordeModelName}`.replaceAll('/', '');
}

type Naming = Readonly<ReturnType<typeof namingOf>>;

export function namingOf(settings: Settings) {
  return {
    /** Shown instead of the file's name. */
    hordeModelName: settings.hordemodelname,
    /** Replies may differ from what the model alone would say: verbose debugging, or request defaults of the server. */
    altered: settings.debugmode === 1 || Object.keys(requestDefaults(settings)).length > 0,
  };
}
