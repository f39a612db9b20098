import { server } from '../../app/server.svelte.ts';

const choice = $state<{ name: string | undefined }>({ name: undefined });

/** In a house of many models: the one that somebody chose. */
export function chosenModel(): string | undefined {
  return server.features.router ? choice.name : undefined;
}

export function chooseModel(name: string): void {
  choice.name = name;
}
