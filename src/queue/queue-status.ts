import type { QueuePosition, QueueStatus } from '../core/request.ts';
import type { TextState } from '../core/text-service.ts';

/** Undefined unless it waits for its turn. */
export function queued(position: QueuePosition | undefined): QueueStatus | undefined {
  return position && { type: 'queued', ...position };
}

/** A model that is unloaded or failed before has not begun to load: progress 0. */
export function loading(state: TextState): QueueStatus | undefined {
  if (state.type === 'none') return undefined;
  const model = state.type === 'ready' ? state.model.name : state.name;
  return { type: 'loading', model, progress: state.type === 'loading' ? state.progress : 0 };
}
