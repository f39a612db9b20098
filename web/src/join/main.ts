import { start } from '../app/start.ts';
import JoinPage from './JoinPage.svelte';

start(JoinPage);
