import type { WorldEntry, WorldOptions } from '../story/story.ts';
import type { RegexScript } from './regex-script.ts';

/** A character that the model plays. Texts contain `{{user}}` and `{{char}}`; they are replaced when a prompt is made. */
export interface Character {
  readonly id: string;
  readonly changedAt: number;
  readonly name: string;
  readonly picture?: Blob;
  readonly description: string;
  readonly personality: string;
  readonly scenario: string;
  /** First message, then the alternate greetings. */
  readonly greetings: readonly string[];
  /** Example messages; `<START>` begins each example. */
  readonly examples: string;
  /** Replaces the system prompt of the settings, which it may contain as `{{original}}`. */
  readonly system: string;
  /** Instructions after the messages. */
  readonly afterMessages: string;
  readonly depthPrompt?: DepthPrompt;
  readonly world: readonly WorldEntry[];
  readonly worldOptions?: WorldOptions;
  /** Replaces the name in prompts: `{{char}}`. */
  readonly nickname?: string;
  /** Name of a voice of the speech model. */
  readonly voice?: string;
  /** Of what is told between its words; that of the settings by default. */
  readonly narratorVoice?: string;
  /** Regex scripts for chats with this character. */
  readonly scripts?: readonly RegexScript[];
  /** Ids of regex scripts for all characters that this one does without. */
  readonly scriptsOff?: readonly string[];
  readonly creatorNotes: string;
  readonly tags: readonly string[];
  /** Unknown fields of the imported card; they are written back on export. */
  readonly foreign?: Readonly<Record<string, unknown>>;
}

/** A text that is inserted before the last `depth` messages. */
export interface DepthPrompt {
  readonly text: string;
  readonly depth: number;
  readonly role: 'system' | 'user' | 'assistant';
}

/** Who the person is in a chat. */
export interface Persona {
  readonly id: string;
  readonly changedAt: number;
  readonly name: string;
  readonly description: string;
  readonly picture?: Blob;
}

export function newCharacter(fields: Partial<Character> & Pick<Character, 'id' | 'changedAt'>): Character {
  return {
    name: '',
    description: '',
    personality: '',
    scenario: '',
    greetings: [],
    examples: '',
    system: '',
    afterMessages: '',
    world: [],
    creatorNotes: '',
    tags: [],
    ...fields,
  };
}

/** Fields that change; undefined removes an optional one. */
export type Changes<Kept> = { readonly [Name in keyof Kept]?: Kept[Name] | undefined };

export function withFields<Kept extends object>(record: Kept, changes: Changes<Kept>): Kept {
  const fields = Object.entries({ ...record, ...changes });
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as Kept;
}

export function changed<Kept extends { readonly changedAt: number }>(record: Kept, changes: Changes<Kept>): Kept {
  return withFields({ ...record, changedAt: Date.now() }, changes);
}

/** The name in prompts and in the chat. */
export function calledName({ name, nickname = '' }: Pick<Character, 'name' | 'nickname'>): string {
  return nickname.trim() || name;
}
