import { translatable } from '../languages/index.ts';
import type { ModelState, ModelStatus } from './status.ts';

export const texts = translatable('models', {
  button: {
    model: 'Model',
    none: 'No model',
    unreachable: 'server not responding',
    label: (names: string, state: string) => `Model: ${names} (${state})`,
  },
  states: {
    loaded: 'loaded',
    loading: 'loading',
    unloaded: 'loads on first use',
    unloading: 'unloading',
    failed: 'failed',
  } satisfies Record<ModelState, string>,
  loading: (progress: number) => `loading, ${Math.round(progress * 100)} %`,
  larger: 'Use a larger model',
  introduction: {
    none: 'No model is loaded.',
    embedded:
      'parley-mini is a tiny built-in model with 46 million parameters. It runs anywhere, handles simple chat, knows few facts and makes things up.',
    plain: (model: string) => `You are chatting with ${model}.`,
    sized: (model: string, size: string, expectation: string) =>
      `You are chatting with ${model}, a model with ${size} parameters: ${expectation}`,
    small: 'small and fast, for simple questions.',
    medium: 'good for short tasks and chat. Check its facts.',
    large: 'good for most tasks. Check important facts.',
  },
});

export function stateText({ state, progress }: Pick<ModelStatus, 'state' | 'progress'>): string {
  return state === 'loading' && progress !== null ? texts.loading(progress) : texts.states[state];
}
