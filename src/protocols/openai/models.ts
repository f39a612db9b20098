import type { TextService, TextState } from '../../core/text-service.ts';
import { type Endpoint, json } from '../../http/call.ts';
import { openaiFamily } from './errors.ts';

export interface ModelsParts {
  readonly service: TextService;
  readonly modelName: () => string;
  /** Seconds since 1970. */
  readonly now: () => number;
}

const statuses: Record<TextState['type'], string> = {
  ready: 'loaded',
  loading: 'loading',
  none: 'unloaded',
  failed: 'unloaded',
};

/** The short path must match whole: as an ending it would catch the model lists of other families. */
export function modelsEndpoints(parts: ModelsParts): Endpoint[] {
  const open = { method: 'GET', access: 'open', queued: false, family: openaiFamily } as const;
  const handle = () => json(modelList(parts));
  return [
    { ...open, match: 'ending', path: '/v1/models', summary: 'The text model.', handle },
    { ...open, match: 'exact', path: '/models', summary: 'Another name for /v1/models.', handle },
  ];
}

function modelList({ service, modelName, now }: ModelsParts): object {
  const model = {
    id: modelName(),
    object: 'model',
    created: Math.floor(now()),
    owned_by: 'koboldcpp',
    status: { value: statuses[service.state().type] },
    permission: [],
    root: 'koboldcpp',
  };
  return { object: 'list', data: [model] };
}
