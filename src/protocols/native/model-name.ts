import { modelId } from '../../core/model-names.ts';
import type { TextState } from '../../core/text-service.ts';

export interface Naming {
  /** Shown instead of the file's name. */
  readonly hordeModelName: string;
  /** Replies may differ from what the model alone would say: verbose debugging, or request defaults of the server. */
  readonly altered: boolean;
}

const noModelName = 'inactive';

/** The name of the text model as clients of this family of servers expect it, one that is still loading included. */
export function modelName(state: TextState, { hordeModelName, altered }: Naming): string {
  if (state.type === 'none' || state.type === 'failed') return noModelName;
  const shown = hordeModelName === '' ? '' : `${altered ? 'debug-' : ''}${hordeModelName}`;
  const file = state.type === 'ready' ? state.model.name : state.name;
  return modelId(shown || file);
}
