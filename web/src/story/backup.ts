import { fieldsOf, jsonIn, listIn } from '../api/loose.ts';
import type { Story } from './story.ts';

const name = 'parley.rescue';

/** Stories that a page of an earlier version could not save when it closed. */
export const backup = {
  read(): Story[] {
    const kept = listIn(jsonIn(localStorage.getItem(name)));
    localStorage.removeItem(name);
    return kept.filter((story): story is Story => typeof fieldsOf(story).id === 'string');
  },
};
