import { sentenceOf } from '../api/failure.ts';
import { type Collection, fetchCollections } from './collections.ts';

/** The collections of the server, fetched when they are asked for. */
export const collectionList = $state({
  all: undefined as readonly Collection[] | undefined,
  canAddFolders: false,
  /** Why they are not known. */
  problem: '',
});

/** `background`: without asking for the password. */
export async function refreshCollections(background = true): Promise<void> {
  try {
    const { collections, can_add_folders } = await fetchCollections(background);
    // What is the same keeps its identity, so that nothing is drawn again.
    if (JSON.stringify(collections) !== JSON.stringify(collectionList.all)) collectionList.all = collections;
    collectionList.canAddFolders = can_add_folders;
    collectionList.problem = '';
  } catch (thrown) {
    collectionList.problem = sentenceOf(thrown);
  }
}
