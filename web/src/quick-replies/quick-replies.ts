import { SavedList } from '../saved/saved-list.ts';
import type { QuickReply } from './sets.ts';

export const quickReplies = new SavedList<QuickReply>('quick-replies', 'all', 'replies');
