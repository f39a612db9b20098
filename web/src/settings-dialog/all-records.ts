// The shapes stay in the files of their collections, which the first load fetches anyway.
import '../conversations/library.svelte.ts';
import '../story/library.svelte.ts';
import { chatShape } from '../conversations/merge.ts';
import { type CollectionName, collectionNames } from '../saved/database.ts';
import { historyShape } from '../saved/history.ts';
import { type RecordStore, recordStore } from '../saved/record-store.ts';
import { plainShape, type Shape } from '../saved/shape.ts';
import { storyShape } from '../story/merge.ts';

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
