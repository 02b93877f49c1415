/* Exchanges datagrams between two UD queue pairs of one port, and prints the result of each step on a line. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char buffer[2][512];

static struct ibv_wc next_completion(struct ibv_comp_channel *channel, struct ibv_cq *cq)
{
	struct ibv_wc wc = {0};
	struct ibv_cq *event_cq;
	void *context;
	while (ibv_poll_cq(cq, 1, &wc) == 0) {
		ibv_req_notify_cq(cq, 0);
		if (ibv_poll_cq(cq, 1, &wc))
			break;
		if (ibv_get_cq_event(channel, &event_cq, &context) || event_cq != cq || context != buffer)
			exit(3);
		ibv_ack_cq_events(cq, 1);
	}
	return wc;
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);
	struct ibv_port_attr port;
	ibv_free_device_list(list);
	ibv_query_port(context, 1, &port);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	struct ibv_cq *cq = ibv_create_cq(context, 16, buffer, channel, 0);
	struct ibv_mr *mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 2, .max_send_sge = 2, .max_recv_sge = 2}};
	struct ibv_qp *rc_qp = ibv_create_qp(pd, &init), *qp[2];
	printf("connected: %s\n", rc_qp ? "made" : strerror(errno));
	init.qp_type = IBV_QPT_UD;
	for (int i = 0; i < 2; i++) {
		qp[i] = ibv_create_qp(pd, &init);
		struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
		printf("too early: %s\n", strerror(ibv_modify_qp(qp[i], &attr, IBV_QP_STATE)));
		attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 5};
		if (ibv_modify_qp(qp[i], &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
			return 4;
		attr.qp_state = IBV_QPS_RTR;
		if (ibv_modify_qp(qp[i], &attr, IBV_QP_STATE))
			return 5;
		attr.qp_state = IBV_QPS_RTS;
		if (ibv_modify_qp(qp[i], &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
			return 6;
	}
	struct ibv_ah_attr to = {.dlid = port.lid, .port_num = 1, .is_global = 1};
	ibv_query_gid(context, 1, 0, &to.grh.dgid);
	struct ibv_ah *ah = ibv_create_ah(pd, &to);
	struct ibv_sge in[2] = {{(uintptr_t)buffer[1], 42, mr->lkey}, {(uintptr_t)buffer[1] + 100, 300, mr->lkey}};
	struct ibv_recv_wr recv = {.wr_id = 11, .sg_list = in, .num_sge = 2}, *bad_recv;
	struct ibv_sge out = {(uintptr_t)buffer[0], 6, mr->lkey};
	struct ibv_send_wr send = {.wr_id = 22, .sg_list = &out, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = {.ah = ah, .remote_qpn = qp[1]->qp_num, .remote_qkey = 5}}, *bad_send;
	strcpy(buffer[0], "hello");
	ibv_post_recv(qp[1], &recv, &bad_recv);
	ibv_post_send(qp[0], &send, &bad_send);
	for (int i = 0; i < 2; i++) {
		struct ibv_wc wc = next_completion(channel, cq);
		if (wc.opcode & IBV_WC_RECV)
			printf("got %d: %s, %u bytes, %c%c%s, from %s, lid %s, global %d\n", (int)wc.wr_id,
				ibv_wc_status_str(wc.status), wc.byte_len, buffer[1][40], buffer[1][41], buffer[1] + 100,
				wc.src_qp == qp[0]->qp_num ? "first" : "other", wc.slid == port.lid ? "own" : "other",
				wc.wc_flags & IBV_WC_GRH && !memcmp(buffer[1] + 24, &to.grh.dgid, 16));
		else
			printf("sent %d: %s\n", (int)wc.wr_id, ibv_wc_status_str(wc.status));
	}
	out.length = 257;
	ibv_post_send(qp[0], &send, &bad_send);
	printf("long: %s\n", ibv_wc_status_str(next_completion(channel, cq).status));
	in[1].length = 3, out.length = 6;
	ibv_post_recv(qp[1], &recv, &bad_recv);
	send.send_flags = 0;
	ibv_post_send(qp[0], &send, &bad_send);
	printf("short: %s\n", ibv_wc_status_str(next_completion(channel, cq).status));
	ibv_post_recv(qp[1], &recv, &bad_recv);
	ibv_post_recv(qp[1], &recv, &bad_recv);
	printf("full: %s\n", strerror(ibv_post_recv(qp[1], &recv, &bad_recv)));
	struct ibv_qp_attr error_state = {.qp_state = IBV_QPS_ERR};
	ibv_modify_qp(qp[1], &error_state, IBV_QP_STATE);
	for (int i = 0; i < 2; i++)
		printf("flushed: %s\n", ibv_wc_status_str(next_completion(channel, cq).status));
	printf("busy: %s\n", strerror(ibv_destroy_cq(cq)));
	struct ibv_cq *send_cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	init.send_cq = send_cq;
	struct ibv_qp *other_qp = ibv_create_qp(pd, &init);
	printf("busy with sends: %s\n", strerror(ibv_destroy_cq(send_cq)));
	int failed = ibv_destroy_qp(other_qp);
	printf("unused: %d\n", failed | ibv_destroy_cq(send_cq));
	printf("ends: %d", ibv_destroy_ah(ah) | ibv_destroy_qp(qp[0]) | ibv_destroy_qp(qp[1]) | ibv_destroy_cq(cq));
	printf(" %d\n", ibv_destroy_comp_channel(channel) | ibv_dereg_mr(mr) | ibv_dealloc_pd(pd) | ibv_close_device(context));
	return 0;
}
