import { type Changes, changed, type Persona } from '../conversations/character.ts';
import { newId } from '../saved/id.ts';
import { personas, preferences } from './library.svelte.ts';
import { texts } from './texts.ts';

/** A persona that was begun. It is saved once something is entered. */
let begun = $state.raw<Persona>();

export function begunPersona(): Persona | undefined {
  return begun;
}

export function beginPersona(): void {
  begun ??= { id: newId(), changedAt: Date.now(), name: '', description: '' };
}

export function discardBegun(): void {
  begun = undefined;
}

/** The first persona that is saved becomes the one of new chats. */
export function changePersona(id: string, changes: Changes<Persona>): void {
  const isBegun = begun?.id === id;
  if (begun && isBegun) {
    const filled = changed(begun, changes);
    begun = filled;
    if (filled.name.trim() === '' && filled.description.trim() === '' && !filled.picture) return;
    begun = undefined;
    personas.put(named(filled));
    if (personas.all.length === 1) preferences.persona = id;
  } else personas.change(id, (now) => named(changed(now, changes)));
}

function named(persona: Persona): Persona {
  return { ...persona, name: persona.name.trim() || texts.persona.unnamed };
}
