// SPDX-License-Identifier: MIT
// The native half of ltp_torch: tensors on libltp's sockets. Nothing waits with Python's lock held.
#include <torch/csrc/utils/pybind.h>

#include <cerrno>

#include "connection.hpp"

namespace py = pybind11;
using ltp_torch::Connection;
using ltp_torch::RecvInfo;
using ltp_torch::Report;

namespace {

/// Called in a wait when a signal arrived: Python's handlers run, and KeyboardInterrupt ends the
/// wait.
bool signal_arrived(void *) {
    const py::gil_scoped_acquire gil;

    if (PyErr_CheckSignals()) throw py::error_already_set();
    return false;
}

ltp::Wait wait_of(std::optional<double> timeout) {
    ltp::Wait w;

    if (timeout) {
        if (!(*timeout >= 0))
            throw py::value_error(
                "timeout must be None or a number of seconds that is not negative");
        // What is longer than a year might as well be for ever, and would overflow below.
        if (*timeout < 3e7)
            w.timeout = ltp::Duration(static_cast<ltp::Duration::rep>(*timeout * 1e6));
    }
    w.interrupted = signal_arrived;
    return w;
}

std::optional<ltp::Duration> duration(std::optional<double> seconds) {
    if (!seconds) return std::nullopt;
    if (!(*seconds >= 0 && *seconds < 3e7))
        throw py::value_error("a time must be a number of seconds that is not negative");
    return ltp::Duration(static_cast<ltp::Duration::rep>(*seconds * 1e6 + 0.5));
}

double seconds(ltp::Duration d);

// What adapts has no value.
std::optional<double> threshold(std::optional<ltp::Duration> d) {
    if (!d || *d == ltp::kAdaptive) return std::nullopt;
    return seconds(*d);
}

double seconds(ltp::Duration d) { return static_cast<double>(d.count()) / 1e6; }

at::Tensor map_tensor(const ltp::Map &map) {
    at::Tensor t = at::empty({static_cast<std::int64_t>(map.segments())}, at::kBool);
    bool *p = t.data_ptr<bool>();

    for (std::size_t i = 0; i < map.segments(); i++) p[i] = map.test(i);
    return t;
}

/// Which elements of @p like arrived, in its shape.
at::Tensor element_mask(const ltp::Map &map, const at::Tensor &like) {
    if (like.nbytes() != map.length())
        throw py::value_error(
            "the tensor has another size than the message: pass the tensor that was received");
    at::Tensor t = at::zeros(like.sizes(), at::kBool);
    bool *p = t.data_ptr<bool>();
    const std::size_t size = like.element_size();

    map.for_each(true, [&](ltp::Map::Range r) {
        std::fill(p + (r.offset + size - 1) / size, p + (r.offset + r.length) / size, true);
    });
    return t;
}

std::vector<Connection *> pointers(const std::vector<std::shared_ptr<Connection>> &connections) {
    std::vector<Connection *> out;

    for (const auto &c : connections) {
        if (!c) throw py::type_error("a connection is None");
        out.push_back(c.get());
    }
    return out;
}

ltp::DType gather_dtype(const at::Tensor &t) {
    switch (t.scalar_type()) {
        case at::kFloat:
            return ltp::DType::float32;
        case at::kDouble:
            return ltp::DType::float64;
        case at::kHalf:
            return ltp::DType::float16;
        case at::kBFloat16:
            return ltp::DType::bfloat16;
        default:
            throw py::type_error("a tensor of dtype " + ltp_torch::dtype_name(t.scalar_type()) +
                                 " has no mean here: use float32, float64, float16 or bfloat16");
    }
}

void check_plain(const at::Tensor &t) {
    if (!t.is_cpu() || !t.is_contiguous())
        throw py::value_error(
            "a gather needs contiguous tensors on the CPU: pass tensor.cpu().contiguous()");
}

/// Means with libltp's gather.
class Mean {
  public:
    Mean(const at::Tensor &like, const std::string &fill)
        : like_(like),
          gather_(static_cast<std::size_t>(like.numel()), gather_dtype(like), policy(fill)) {
        gather_.begin();
    }
    void begin() { gather_.begin(); }
    void add(const at::Tensor &t, const RecvInfo *info) {
        check(t);
        const py::gil_scoped_release nogil;
        if (info)
            gather_.add(t.data_ptr(), info->map);
        else
            gather_.add(t.data_ptr());
    }
    void finish(const at::Tensor &out) {
        check(out);
        ltp_torch::written(out);
        const py::gil_scoped_release nogil;
        gather_.finish(out.data_ptr());
    }
    at::Tensor counts() const {
        const auto &c = gather_.counts();
        at::Tensor t = at::empty({static_cast<std::int64_t>(c.size())}, at::kInt);
        std::copy(c.begin(), c.end(), t.data_ptr<int>());
        return t;
    }
    std::size_t block() const { return gather_.block(); }
    double delivered() const { return gather_.delivered(); }

  private:
    static ltp::Fill policy(const std::string &fill) {
        if (fill == "mean") return ltp::Fill::mean_of_received;
        if (fill == "zero") return ltp::Fill::zero;
        if (fill == "previous") return ltp::Fill::previous;
        throw py::value_error("there is no fill policy '" + fill +
                              "': use 'mean', 'zero' or 'previous'");
    }
    void check(const at::Tensor &t) const {
        check_plain(t);
        if (t.scalar_type() != like_.scalar_type() || t.numel() != like_.numel())
            throw py::value_error("a gather of " + std::to_string(like_.numel()) + " elements of " +
                                  ltp_torch::dtype_name(like_.scalar_type()) + " got " +
                                  std::to_string(t.numel()) + " of " +
                                  ltp_torch::dtype_name(t.scalar_type()));
    }

    at::Tensor like_;
    ltp::Gather gather_;
};

/// libltp's errors as the classes of ltp_torch.errors.
void translate(std::exception_ptr p) {
    const auto raise = [](const char *name, const ltp::Error &e) {
        const py::object type = py::module_::import("ltp_torch.errors").attr(name);
        PyErr_SetObject(type.ptr(), py::make_tuple(e.error(), e.what()).ptr());
    };
    try {
        if (p) std::rethrow_exception(p);
    } catch (const ltp::SizeMismatch &e) {
        raise("SizeMismatch", e);
    } catch (const ltp_torch::DTypeMismatch &e) {
        raise("DTypeMismatch", e);
    } catch (const ltp_torch::PeerClosed &e) {
        raise("Closed", e);
    } catch (const ltp::ModuleMissing &e) {
        raise("ModuleMissing", e);
    } catch (const ltp::Error &e) {
        switch (e.error()) {
            case ETIMEDOUT:
                return raise("LtpTimeout", e);
            case ECONNREFUSED:
                return raise("Refused", e);
            case ECONNRESET:
                return raise("PeerDied", e);
            case EPIPE:
                return raise("BrokenConnection", e);
            default:
                return raise("LtpError", e);
        }
    }
}

}  // namespace

PYBIND11_MODULE(_native, m) {
    py::register_exception_translator(translate);
    const py::call_guard<py::gil_scoped_release> nogil;

    py::class_<RecvInfo>(m, "RecvInfo")
        .def_property_readonly("tag", [](const RecvInfo &i) { return i.tag; })
        .def_property_readonly("length", [](const RecvInfo &i) { return i.length; })
        .def_property_readonly("received", [](const RecvInfo &i) { return i.received; })
        .def_property_readonly("fraction", [](const RecvInfo &i) { return i.map.fraction(); })
        .def_property_readonly("map", [](const RecvInfo &i) { return map_tensor(i.map); })
        .def_property_readonly("seg_size", [](const RecvInfo &i) { return i.map.seg_size(); })
        .def_property_readonly("reason",
                               [](const RecvInfo &i) { return ltp::reason_name(i.reason); })
        .def_property_readonly("elapsed", [](const RecvInfo &i) { return seconds(i.elapsed); })
        .def_property_readonly("tolerant", [](const RecvInfo &i) { return i.tolerant; })
        .def(
            "element_mask",
            [](const RecvInfo &i, const at::Tensor &like) { return element_mask(i.map, like); },
            py::arg("like"))
        .def("__repr__", [](const RecvInfo &i) {
            return "RecvInfo(tag=" + std::to_string(i.tag) +
                   ", length=" + std::to_string(i.length) +
                   ", received=" + std::to_string(i.received) +
                   ", seg_size=" + std::to_string(i.map.seg_size()) + ", reason='" +
                   ltp::reason_name(i.reason) + "', elapsed=" + std::to_string(seconds(i.elapsed)) +
                   ")";
        });

    py::class_<Report>(m, "Report")
        .def_property_readonly("tag", [](const Report &r) { return r.tag; })
        .def_property_readonly("length", [](const Report &r) { return r.length; })
        .def_property_readonly("received", [](const Report &r) { return r.received; })
        .def_property_readonly("fraction", [](const Report &r) { return r.map.fraction(); })
        .def_property_readonly("map", [](const Report &r) { return map_tensor(r.map); })
        .def_property_readonly("seg_size", [](const Report &r) { return r.map.seg_size(); })
        .def_property_readonly("reason", [](const Report &r) { return ltp::reason_name(r.reason); })
        .def_property_readonly("tolerant", [](const Report &r) { return r.tolerant; })
        .def(
            "element_mask",
            [](const Report &r, const at::Tensor &like) { return element_mask(r.map, like); },
            py::arg("like"))
        .def("__repr__", [](const Report &r) {
            return "Report(tag=" + std::to_string(r.tag) + ", length=" + std::to_string(r.length) +
                   ", received=" + std::to_string(r.received) + ", reason='" +
                   ltp::reason_name(r.reason) + "')";
        });

    py::class_<Connection, std::shared_ptr<Connection>>(m, "Socket")
        .def_static(
            "connect",
            [](const std::string &host, std::uint16_t port, std::optional<double> timeout) {
                const ltp::Wait wait = wait_of(timeout);
                const py::gil_scoped_release release;
                return std::make_shared<Connection>(
                    ltp::Socket::connected(ltp::Address::resolve(host, port), wait));
            },
            py::arg("host"), py::arg("port"), py::arg("timeout"))
        .def_static(
            "listen",
            [](const std::string &host, std::uint16_t port, int backlog) {
                return std::make_shared<Connection>(
                    ltp::Socket::listening(ltp::Address::resolve(host, port), backlog));
            },
            py::arg("host"), py::arg("port"), py::arg("backlog"), nogil)
        .def(
            "accept",
            [](Connection &c, std::optional<double> timeout) {
                const ltp::Wait wait = wait_of(timeout);
                const py::gil_scoped_release release;
                return c.accept(wait);
            },
            py::arg("timeout"))
        .def(
            "send",
            [](Connection &c, const at::Tensor &tensor, std::uint64_t tag, bool tolerant,
               std::uint64_t critical, std::optional<double> giveup,
               std::optional<double> timeout) {
                const ltp::Wait wait = wait_of(timeout);
                ltp::SendInfo info;
                info.tag = tag;
                info.tolerant = tolerant;
                info.critical =
                    static_cast<std::uint32_t>(std::min<std::uint64_t>(critical, UINT32_MAX));
                info.giveup = duration(giveup);
                const py::gil_scoped_release release;
                c.send(tensor, info, wait);
            },
            py::arg("tensor"), py::arg("tag"), py::arg("tolerant"), py::arg("critical"),
            py::arg("give_up"), py::arg("timeout"))
        .def(
            "recv",
            [](Connection &c, const at::Tensor &tensor, std::optional<double> timeout) {
                const ltp::Wait wait = wait_of(timeout);
                const py::gil_scoped_release release;
                return c.recv(tensor, wait);
            },
            py::arg("tensor"), py::arg("timeout"))
        .def("report", &Connection::report, nogil)
        .def("close", &Connection::close, nogil)
        .def("shutdown", &Connection::shutdown, nogil)
        .def("set_reports", &Connection::set_reports, py::arg("on"))
        .def("set_keep_holes", &Connection::set_keep_holes, py::arg("keep"))
        .def(
            "set_thresholds",
            [](Connection &c, std::optional<double> fraction, std::optional<double> lt,
               std::optional<double> deadline) {
                ltp::Thresholds t;
                t.fraction = fraction;
                t.lt = duration(lt);
                t.deadline = duration(deadline);
                c.with_socket([&](ltp::Socket &s) { s.set_thresholds(t); });
            },
            py::arg("fraction"), py::arg("lt"), py::arg("deadline"))
        .def("thresholds",
             [](Connection &c) {
                 const ltp::Thresholds t =
                     c.with_socket([](ltp::Socket &s) { return s.thresholds(); });
                 return py::make_tuple(t.fraction.value_or(1), threshold(t.lt),
                                       threshold(t.deadline));
             })
        .def(
            "set_buffers",
            [](Connection &c, std::optional<int> send, std::optional<int> receive) {
                c.with_socket([&](ltp::Socket &s) {
                    if (send) s.set_send_buffer(*send);
                    if (receive) s.set_receive_buffer(*receive);
                });
            },
            py::arg("send"), py::arg("receive"))
        .def(
            "set_seg_size",
            [](Connection &c, int bytes) {
                c.with_socket([&](ltp::Socket &s) { s.set_seg_size(bytes); });
            },
            py::arg("bytes"))
        .def("stats",
             [](Connection &c) {
                 const ltp_info i = c.with_socket([](ltp::Socket &s) { return s.info(); });
                 py::dict d;
#define LTP_STAT(name) d[#name] = i.name
                 LTP_STAT(segments_out);
                 LTP_STAT(segments_in);
                 LTP_STAT(retransmitted);
                 LTP_STAT(lost);
                 LTP_STAT(spurious);
                 LTP_STAT(probes);
                 LTP_STAT(srtt_us);
                 LTP_STAT(rttvar_us);
                 LTP_STAT(rtprop_us);
                 LTP_STAT(btlbw);
                 LTP_STAT(pacing_rate);
                 LTP_STAT(cwnd);
                 LTP_STAT(in_flight);
                 LTP_STAT(peer_window);
                 LTP_STAT(seg_size);
                 LTP_STAT(flows_out);
                 LTP_STAT(flows_in);
                 LTP_STAT(bytes_acked);
                 LTP_STAT(bytes_received);
#undef LTP_STAT
                 return d;
             })
        .def("fileno", &Connection::fd)
        .def("local",
             [](Connection &c) {
                 const ltp::Address a = c.with_socket([](ltp::Socket &s) { return s.local(); });
                 return py::make_tuple(a.host(), a.port());
             })
        .def("peer", [](Connection &c) {
            const ltp::Address a = c.with_socket([](ltp::Socket &s) { return s.peer(); });
            return py::make_tuple(a.host(), a.port());
        });

    py::class_<Mean>(m, "Mean")
        .def(py::init<const at::Tensor &, const std::string &>(), py::arg("like"), py::arg("fill"))
        .def("begin", &Mean::begin)
        .def("add", &Mean::add, py::arg("tensor"), py::arg("info").none(true))
        .def("finish", &Mean::finish, py::arg("out"))
        .def_property_readonly("counts", &Mean::counts)
        .def_property_readonly("block", &Mean::block)
        .def_property_readonly("delivered", &Mean::delivered);

    m.def(
        "receive_all",
        [](const std::vector<std::shared_ptr<Connection>> &connections,
           const std::vector<at::Tensor> &tensors, std::optional<double> timeout) {
            const ltp::Wait wait = wait_of(timeout);
            const auto raw = pointers(connections);
            std::pair<std::vector<RecvInfo>, ltp::Duration> out;
            {
                const py::gil_scoped_release release;
                out = ltp_torch::receive_all(raw, tensors, wait);
            }
            return py::make_tuple(std::move(out.first), seconds(out.second));
        },
        py::arg("connections"), py::arg("tensors"), py::arg("timeout"));
    m.def(
        "send_all",
        [](const std::vector<std::shared_ptr<Connection>> &connections, const at::Tensor &tensor,
           std::uint64_t tag, std::optional<double> timeout) {
            const ltp::Wait wait = wait_of(timeout);
            const auto raw = pointers(connections);
            ltp::SendInfo info;
            info.tag = tag;
            const py::gil_scoped_release release;
            ltp_torch::send_all(raw, tensor, info, wait);
        },
        py::arg("connections"), py::arg("tensor"), py::arg("tag"), py::arg("timeout"));
    m.attr("TAG_MAX") = ltp_torch::kTagMax;
}
