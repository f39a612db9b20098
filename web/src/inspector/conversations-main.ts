import { start } from '../app/start.ts';
import ConversationsPage from './ConversationsPage.svelte';

start(ConversationsPage);
