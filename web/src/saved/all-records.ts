// The shapes stay in the files of their collections, which the first load fetches anyway.
import '../chat/library.svelte.ts';
import '../write/library.svelte.ts';
import { chatShape } from '../chat/model/merge.ts';
import { storyShape } from '../story/merge.ts';
import { type CollectionName, collectionNames } from './database.ts';
import { historyShape } from './history.ts';
import { type RecordStore, recordStore } from './record-store.ts';
import { plainShape, type Shape } from './shape.ts';

export interface AnyRecord {
  readonly id: string;
}

const shapes: Partial<Record<CollectionName, unknown>> = {
  chats: chatShape,
  stories: storyShape,
  histories: historyShape,
};

/** The stored records of all collections, whatever part of the pages they belong to. */
export function allRecords(): readonly (readonly [name: CollectionName, store: RecordStore<AnyRecord>])[] {
  return collectionNames.map((name) => {
    const shape = (shapes[name] ?? plainShape<AnyRecord>()) as Shape<AnyRecord>;
    return [name, recordStore(name, shape)];
  });
}
