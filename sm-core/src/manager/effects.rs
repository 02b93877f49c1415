//! Applies the effects of a component on other components, as soon as it returns.

use super::SubnetManager;

impl SubnetManager {
    /// Applies the effects of a component.
    pub(super) fn apply_effects(&mut self) {
        let effects = core::mem::take(&mut self.effects);
        for (at, kind) in effects.problems {
            self.problem(at, kind);
        }
        if let Some(report) = self.activity.report() {
            report.engine_messages.extend(effects.messages);
        }
        for n in effects.switches_after_light_sweep {
            self.schedule.reread_switch_later(n);
        }
        for n in effects.switches_of_local_sweep {
            self.schedule.reread_switch(n);
        }
        for p in effects.ports_of_local_sweep {
            self.schedule.reread_port(p);
        }
        for guid in effects.reregister_sent {
            self.sa.on_reregister_sent(guid);
        }
        for guid in effects.reregister_failed {
            self.sa.on_reregister_failed(guid);
        }
        for guid in effects.reset_ports {
            self.sa.on_port_reset(guid);
        }
        self.last_sweep
            .link_rates
            .check_later(effects.changed_rates);
        // Before, another SM may have been master, and what it saw come up is not new.
        if self.last_sweep.report.is_some() && !self.mastership.is_first_as_master() {
            let new_links = effects.added_links.iter().map(|(a, _)| *a);
            self.last_sweep.link_rates.check_later(new_links);
            self.last_sweep.added_nodes.extend(effects.added_nodes);
            let links = effects.added_links.into_iter();
            let links = links.map(|(a, b)| (a.min(b), a.max(b)));
            self.last_sweep.added_links.extend(links);
        }
        let sweep = self.last_sweep.number;
        for p in effects.lost_links {
            with_ctx!(self, |ctx| self.link_stability.on_link_lost(ctx, p, sweep));
        }
        if effects.local_sweep {
            self.request_local_sweep();
        }
        for n in effects.removed_nodes {
            self.schedule.remove_node(n);
            self.mastership.remove_node(n);
        }
        for (at, reason) in effects.uncounted_ports {
            self.surveys.on_excluded(at, reason, self.now);
        }
        if effects.routing_stale {
            self.routing.mark_stale();
        }
        if effects.link_conflict {
            self.schedule.record_link_conflict(self.now);
        }
        if effects.invalid_response {
            self.schedule.record_inconsistency(self.now);
        }
        for p in effects.ports_after_light_sweep {
            self.schedule.reread_port_later(p);
        }
        if let Some(port) = effects.blocking_port
            && let Some(update) = self.activity.table_update()
            && update.lfts.is_ordered()
        {
            update.lfts.block_on(port);
        }
        if effects.is_new_vl_epoch {
            self.adoption.on_vl_tables_changing();
        }
        if effects.full_sweep {
            self.request_full_sweep();
        }
    }
}
